package page

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/annotate/manager/internal/locate"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
)

// shownPayload is how much of a payload the page shows before and after the place that
// failed, in bytes.
const shownPayload = 2 << 10

// failureForm is a failed message as JSON.
type failureForm struct {
	Number  uint64    `json:"number"`
	Time    time.Time `json:"time"`
	Topic   string    `json:"topic"`
	Payload string    `json:"payload"`
	Base64  bool      `json:"base64"` // whether the payload is in base64, since it is no text
	Bytes   int       `json:"bytes"`  // of the message
	IsCut   bool      `json:"isCut"`  // whether the payload lacks its end
	Format  string    `json:"format"`
	Reason  string    `json:"reason"`
	Node    string    `json:"node"`
	Place   string    `json:"place"`
}

func formOfFailure(m annotate.FailedMessage) failureForm {
	f := failureForm{Number: m.Number, Time: m.Time.UTC(), Topic: m.Topic, Payload: string(m.Payload), Bytes: m.Bytes,
		IsCut: len(m.Payload) < m.Bytes, Format: string(m.Format), Reason: m.Reason, Node: m.Node, Place: m.Place}
	if whole := wholeRunes(m.Payload, f.IsCut); utf8.Valid(whole) {
		f.Payload = string(whole)
	} else {
		f.Payload, f.Base64 = base64.StdEncoding.EncodeToString(m.Payload), true
	}
	return f
}

// wholeRunes returns a payload without the half of a character at a cut.
func wholeRunes(payload []byte, isCut bool) []byte {
	for cut := 1; isCut && cut < utf8.UTFMax && cut <= len(payload); cut++ {
		if last := payload[len(payload)-cut:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return payload[:len(payload)-cut]
			}
			break
		}
	}
	return payload
}

// failureView is a failed message on the page.
type failureView struct {
	annotate.FailedMessage
	IsText, IsCut bool
	// Before, Marked and After are what is shown of the payload; Marked is what failed.
	Before, Marked, After string
	// SkipsStart and SkipsEnd say that there is more.
	SkipsStart, SkipsEnd bool
}

func viewOfFailure(m annotate.FailedMessage) failureView {
	v := failureView{FailedMessage: m, IsCut: len(m.Payload) < m.Bytes}
	payload := wholeRunes(m.Payload, v.IsCut)
	if v.IsText = utf8.Valid(payload) && bytes.IndexByte(payload, 0) < 0; !v.IsText {
		return v
	}
	span, ok := locate.Find(payload, string(m.Format), m.Place)
	if !ok {
		span = locate.Span{}
	}
	from, to := max(0, span.Start-shownPayload), min(len(payload), span.End+shownPayload)
	end := min(span.End, span.Start+shownPayload) // of a long place
	if end < span.End {
		to = end
	}
	valid := func(part []byte) string { return strings.ToValidUTF8(string(part), "") }
	v.SkipsStart, v.SkipsEnd = from > 0, to < len(payload)
	v.Before = valid(payload[from:span.Start])
	v.Marked = valid(payload[span.Start:end])
	v.After = valid(payload[end:to])
	return v
}

// keptMessages are messages of a channel that its pages show: those that failed, or those that were
// published with a warning.
type keptMessages struct {
	path  string // below the channel
	title string
	of    func(manager.Activity) []annotate.FailedMessage
	// published means that they did not fail.
	published bool
}

func failedMessages() keptMessages {
	return keptMessages{path: "failures", title: "Failures", of: manager.Activity.Failures}
}

func warnedMessages() keptMessages {
	return keptMessages{path: "warnings", title: "Warnings", of: manager.Activity.Warned, published: true}
}

// kept returns the handler that shows messages of a channel.
func (p *pages) kept(messages keptMessages) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		c, err := p.get(r)
		if err != nil {
			return err
		}
		one := p.row(c)
		view := struct {
			shell.Frame
			Row       row
			Path      string
			Published bool
			Failures  []failureView
		}{Row: one, Path: messages.path, Published: messages.published}
		view.Frame = p.part.Frame(r, messages.title+" of "+one.Name,
			channelCrumbs(one, shell.Crumb{Name: messages.title, Href: channelHref(c.ID) + "/" + messages.path})...)
		for _, m := range messages.of(p.manager.Activity(c.ID)) {
			view.Failures = append(view.Failures, viewOfFailure(m))
		}
		w.Header().Set("Cache-Control", "no-store")
		return p.part.Show(w, r, http.StatusOK, "failures.html", &view)
	}
}

// keptMessage returns the handler that answers with one of the messages.
func (p *pages) keptMessage(messages keptMessages) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		c, err := p.get(r)
		if err != nil {
			return err
		}
		m, err := find(messages.of(p.manager.Activity(c.ID)), r.PathValue("number"))
		if err != nil {
			return err
		}
		w.Header().Set("Cache-Control", "no-store")
		return httpapi.WriteJSON(w, formOfFailure(m))
	}
}

// find returns the message with a number.
func find(messages []annotate.FailedMessage, text string) (annotate.FailedMessage, error) {
	number, err := strconv.ParseUint(text, 10, 64)
	for _, m := range messages {
		if err == nil && m.Number == number {
			return m, nil
		}
	}
	return annotate.FailedMessage{}, &httpapi.Error{Status: http.StatusNotFound,
		Detail: "There is no such message " + text + " any more: the newest ones are kept while the service runs."}
}
