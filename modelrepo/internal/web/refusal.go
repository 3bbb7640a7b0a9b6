package web

import (
	"net/http"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/modelrepo"
)

// WrongType is the sentence about a body of a type that the address does not take.
const WrongType = "Unsupported content type of request body or malformed content."

// Malformed refuses a request before it gets to the store.
func Malformed(text string) error { return Invalid(http.StatusBadRequest, text) }

// Invalid is [Malformed] with another status.
func Invalid(status int, text string) error {
	return &httpapi.Error{Status: status, Detail: text, Err: modelrepo.ErrInvalid}
}
