package admin

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"strings"

	"github.com/iotenablers/enablers/internal/httpapi"
)

// The bounds of requests, in bytes.
const (
	maxEntity      = 1 << 20
	maxDeclaration = 8 << 20
)

// mediaType is the media type of a request's body; empty if it has none.
func mediaType(r *http.Request) (string, error) {
	header := r.Header.Get("Content-Type")
	if header == "" {
		return "", nil
	}
	media, _, err := mime.ParseMediaType(header)
	if err != nil {
		return "", unsupported()
	}
	return media, nil
}

func unsupported() error {
	return &problem{status: http.StatusUnsupportedMediaType,
		Message: "Unsupported Content-Type; use application/json, application/x-www-form-urlencoded or multipart/form-data"}
}

// readBody reads the body of a request that changes an entity, as JSON.
func readBody(r *http.Request, of reflect.Type) ([]byte, error) {
	media, err := mediaType(r)
	if err != nil {
		return nil, err
	}
	data, err := httpapi.ReadBody(r, "", maxEntity)
	if err != nil {
		return nil, err
	}
	var fields []field
	switch media {
	case "application/json":
		if len(bytes.TrimSpace(data)) == 0 {
			return []byte("{}"), nil
		}
		if at := bytes.TrimLeft(data, " \t\r\n"); at[0] != '{' {
			return nil, badRequest("Cannot parse JSON body")
		}
		return data, nil
	case "":
		if len(data) == 0 {
			return []byte("{}"), nil
		}
		return nil, unsupported()
	case "application/x-www-form-urlencoded":
		fields, err = urlFields(string(data))
	case "multipart/form-data":
		fields, err = partFields(r.Header, data)
	default:
		return nil, unsupported()
	}
	if err != nil {
		return nil, badRequest("Cannot parse the form: %s", err)
	}
	made, err := decodeForm(fields, of)
	if err != nil {
		return nil, badRequest("Cannot parse the form: %s", err)
	}
	return made, nil
}

// urlFields lists the fields of a form in their order.
func urlFields(text string) ([]field, error) {
	var fields []field
	for pair := range strings.SplitSeq(text, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(name)
		if err != nil {
			return nil, err
		}
		if value, err = url.QueryUnescape(value); err != nil {
			return nil, err
		}
		if fields = append(fields, field{name, value}); len(fields) > formFields {
			return nil, errors.New("too many fields")
		}
	}
	return fields, nil
}

// partFields lists the fields of a form of several parts in their order; files count
// by what they contain.
func partFields(header http.Header, body []byte) ([]field, error) {
	form, err := httpapi.NewForm(header, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the boundary is missing")
	}
	var fields []field
	for {
		part, err := form.NextDecoded()
		if err == io.EOF {
			return fields, nil
		}
		if err != nil {
			return nil, err
		}
		value, err := io.ReadAll(part)
		if err != nil {
			return nil, err
		}
		if fields = append(fields, field{part.FormName(), string(value)}); len(fields) > formFields {
			return nil, errors.New("too many fields")
		}
	}
}
