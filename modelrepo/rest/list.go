package rest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/modelrepo/internal/web"
)

const (
	// listBuffer is how many bytes of a list are kept before they are written. A list that
	// fits has a status of its own when it fails, and counts for no bound.
	listBuffer = 64 << 10
	// maxLists is how many longer lists are written at one time.
	maxLists = 16
)

// longLists bounds how many long lists are written at one time.
func longLists() *httpapi.Slots {
	return httpapi.NewSlots(maxLists, "Too many long lists are being read. Please try again, or ask for pages with the 'page' parameter.")
}

// writeList answers with a whole list as it is read: the object of its parent, with the list as
// its last member. The parent may be nil. A list without items is left out, except without a
// parent. When the list fails half-way, or the client does not read it, the connection breaks off.
func writeList[T any](
	r *rest, w http.ResponseWriter, req *http.Request, parent any, name string, items iter.Seq2[T, error],
) error {
	w.Header().Set("Content-Type", "application/json")
	if req.Method == http.MethodHead {
		return nil
	}
	answer := &listing{rest: r, to: httpapi.PatientWriter(w, web.Patience)}
	defer answer.close()
	err := writeItems(bufio.NewWriterSize(answer, listBuffer), parent, name, items)
	if err == nil {
		return nil
	}
	if answer.begun { // the client must not take the answer for the whole
		if req.Context().Err() == nil && !errors.Is(err, answer.failure) {
			r.options.Logger.Error("a list failed half-way", "path", req.URL.Path, "error", err)
		}
		panic(http.ErrAbortHandler)
	}
	w.Header().Del("Content-Type")
	return err
}

// writeItems writes the object.
func writeItems[T any](to *bufio.Writer, parent any, name string, items iter.Seq2[T, error]) error {
	head := []byte("{")
	if parent != nil {
		data, err := json.Marshal(parent)
		if err != nil {
			return err
		}
		head = append(bytes.TrimSuffix(data, []byte("}")), ',') // every parent has a name
	}
	begin := fmt.Sprintf("%s%q:{\"items\":[", head, name)
	count := 0
	for item, err := range items {
		if err != nil {
			return err
		}
		data, err := json.Marshal(item)
		if err != nil {
			return err
		}
		separator := ","
		if count == 0 {
			separator = begin
		}
		count++
		if _, err := to.WriteString(separator); err != nil {
			return err
		}
		if _, err := to.Write(data); err != nil {
			return err
		}
	}
	end := fmt.Sprintf("],\"totalCount\":%d}}", count)
	switch {
	case count == 0 && parent != nil:
		end = string(bytes.TrimSuffix(head, []byte(","))) + "}"
	case count == 0:
		end = begin + end
	}
	if _, err := to.WriteString(end); err != nil {
		return err
	}
	return to.Flush()
}

// listing is the answer that a list is written to. The first write of a list that does not fit
// into its buffer takes a slot.
type listing struct {
	rest    *rest
	to      io.Writer
	release func() // nil without a slot
	begun   bool
	failure error // of the connection
}

// Write implements [io.Writer].
func (l *listing) Write(p []byte) (int, error) {
	if !l.begun && len(p) >= listBuffer {
		release, err := l.rest.lists.Take()
		if err != nil {
			return 0, err
		}
		l.release = release
	}
	l.begun = true
	n, err := l.to.Write(p)
	l.failure = err
	return n, err
}

func (l *listing) close() {
	if l.release != nil {
		l.release()
	}
}
