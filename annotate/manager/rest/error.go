package rest

import (
	"errors"
	"net/http"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/storage"
)

// Classify decides the status and the text of an error, in the words that
// clients of the contract know.
func Classify(err error) *httpapi.Error {
	var field *annotate.FieldError
	switch {
	case errors.As(err, &field):
		return &httpapi.Error{Status: http.StatusBadRequest, Detail: "The request content was malformed:\n" + field.Error()}
	case errors.Is(err, annotate.ErrMapping):
		return &httpapi.Error{Status: http.StatusBadRequest, Detail: "RML mapping exception: " + err.Error()}
	case errors.Is(err, manager.ErrStandalone):
		return &httpapi.Error{Status: http.StatusNotFound,
			Detail: "Service not available: Annotations service is not available in standalone mode!"}
	case errors.Is(err, storage.ErrInvalidData):
		return &httpapi.Error{Status: http.StatusRequestEntityTooLarge, Detail: "Too large to be stored: " + err.Error()}
	case errors.Is(err, storage.ErrFull):
		return &httpapi.Error{Status: http.StatusInsufficientStorage,
			Detail: "Storage full: free space where the channels are stored, and try again.", Err: err}
	case errors.Is(err, storage.ErrUnavailable):
		return &httpapi.Error{Status: http.StatusServiceUnavailable, Detail: "Storage not available: " + err.Error(), Err: err}
	case errors.Is(err, manager.ErrNotRunning):
		return &httpapi.Error{Status: http.StatusServiceUnavailable, Detail: "Service not available: " + manager.ErrNotRunning.Error(), Err: err}
	}
	return nil
}

// stopError is ChannelError for operations that stop a channel, which the original service
// names in the text for a missing one.
func stopError(err error, id string) error {
	if errors.Is(err, manager.ErrChannelNotFound) {
		return &httpapi.Error{Status: http.StatusNotFound, Err: err,
			Detail: "Channel ID not found: Cannot stop channel. No channel with ID " + id}
	}
	return ChannelError(err, id)
}

// ChannelError maps errors about a channel to those of the REST contract.
func ChannelError(err error, id string) error {
	switch {
	case errors.Is(err, manager.ErrChannelNotFound):
		return &httpapi.Error{Status: http.StatusNotFound, Detail: "Channel ID not found: No channel with ID: " + id, Err: err}
	case errors.Is(err, manager.ErrChannelExists):
		return &httpapi.Error{Status: http.StatusBadRequest, Err: err,
			Detail: "Channel ID exception: Cannot create new channel with given ID. Found existing channel with ID " + id}
	}
	if known := Classify(err); known != nil {
		return known
	}
	return &httpapi.Error{Status: http.StatusInternalServerError, Detail: "Channel management error: " + err.Error()}
}

// AnnotationError maps errors about an annotation to those of the REST contract.
func AnnotationError(err error, id string) error {
	if errors.Is(err, manager.ErrAnnotationNotFound) {
		return &httpapi.Error{Status: http.StatusNotFound, Detail: "Annotation ID not found: No annotation with ID: " + id, Err: err}
	}
	if known := Classify(err); known != nil {
		return known
	}
	return &httpapi.Error{Status: http.StatusInternalServerError, Detail: "Annotations management error: " + err.Error()}
}
