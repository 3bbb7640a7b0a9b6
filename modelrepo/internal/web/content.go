package web

import (
	"io"
	"mime/multipart"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/modelrepo"
)

// Content is the field "content" in the body of an upload, a form. It streams the bytes of that
// field. Its end is the end of a complete and valid body.
type Content struct {
	Form *httpapi.Form
	Part *multipart.Part // the field
}

// Read implements [io.Reader].
func (c *Content) Read(p []byte) (int, error) {
	n, err := c.Part.Read(p)
	if err != io.EOF {
		return n, err
	}
	// A body that is cut off here, or has the field twice, is not stored.
	switch _, err := c.Form.NextDecoded("content"); {
	case err == io.EOF:
		return n, io.EOF
	case err != nil:
		return n, err
	}
	return n, &modelrepo.Error{Op: "upload content", Err: modelrepo.ErrInvalid,
		Text: "The form field 'content' is there more than once. Nothing was stored."}
}
