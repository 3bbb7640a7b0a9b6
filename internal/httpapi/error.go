package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strings"
)

// Error is an error with the status and text that a client gets for it.
type Error struct {
	// Status is the HTTP status code.
	Status int
	// Detail is the text for the client. Empty means the standard text of the
	// status.
	Detail string
	// Hint says what to do instead, where Detail is empty: a sentence for interfaces whose
	// contract has no text of its own for the status.
	Hint string
	// Header has further header fields of the answer, for an error of
	// [Options.Authorize].
	Header http.Header
	// Err is the cause, for the log. It is never shown to the client.
	Err error
}

// Error returns the detail and the cause.
func (e *Error) Error() string {
	text := e.Text()
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Text returns the text for the client.
func (e *Error) Text() string {
	if e.Detail != "" {
		return e.Detail
	}
	return http.StatusText(e.Status)
}

// HTTPStatus returns the status, for servers of other protocols.
func (e *Error) HTTPStatus() int { return e.Status }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// statusClientClosed is logged for a request whose client has closed the connection. No
// client receives it.
const statusClientClosed = 499

// classified returns the error as an *Error: its own, what classify makes of
// it, or status 500 without details.
func classified(err error, classify func(error) *Error) *Error {
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	if classify != nil {
		if known := classify(err); known != nil {
			return known
		}
	}
	if errors.Is(err, context.Canceled) {
		return &Error{Status: statusClientClosed, Detail: "The connection was closed before the request was answered.", Err: err}
	}
	return &Error{Status: http.StatusInternalServerError, Err: err}
}

// WantsPage reports whether a browser shows the answer to a request as a page, rather than a program
// or a script that would not understand one.
func WantsPage(r *http.Request) bool {
	mode := r.Header.Get("Sec-Fetch-Mode")
	return (mode == "" || mode == "navigate") && strings.Contains(r.Header.Get("Accept"), "text/html")
}

// WriteTextError answers with the error's text and hint as plain text.
func WriteTextError(w http.ResponseWriter, _ *http.Request, e *Error) {
	text := e.Text()
	if e.Hint != "" {
		text += ". " + e.Hint
	}
	WriteText(w, e.Status, text)
}
