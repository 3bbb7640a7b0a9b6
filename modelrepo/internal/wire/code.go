package wire

import (
	"net/http"

	"github.com/iotenablers/enablers/modelrepo"
)

// ErrorCode is the header field with the name of an error's [Code].
const ErrorCode = "X-Error-Code"

// Code is how an error of the repository looks over HTTP. A client tells errors of one
// status apart by the name.
type Code struct {
	// Err is the sentinel of package modelrepo.
	Err error
	// Status is the HTTP status.
	Status int
	// Name is the value of the ErrorCode field.
	Name string
}

// Codes returns the codes of all sentinels.
func Codes() []Code {
	return []Code{
		{modelrepo.ErrNotFound, http.StatusNotFound, "not-found"},
		{modelrepo.ErrExists, http.StatusConflict, "exists"},
		{modelrepo.ErrContentExists, http.StatusBadRequest, "content-exists"},
		{modelrepo.ErrNotEmpty, http.StatusBadRequest, "not-empty"},
		{modelrepo.ErrInvalid, http.StatusBadRequest, "invalid"},
		{modelrepo.ErrPrecondition, http.StatusPreconditionFailed, "precondition"},
		{modelrepo.ErrDigest, http.StatusBadRequest, "digest"},
		{modelrepo.ErrIncomplete, http.StatusBadRequest, "incomplete"},
		{modelrepo.ErrExpired, http.StatusConflict, "expired"},
		{modelrepo.ErrOffset, http.StatusConflict, "offset"},
		{modelrepo.ErrTooLong, http.StatusRequestEntityTooLarge, "too-long"},
		{modelrepo.ErrChecksum, StatusChecksum, "checksum"},
		{modelrepo.ErrImmutable, http.StatusConflict, "immutable"},
		{modelrepo.ErrAliased, http.StatusConflict, "aliased"},
		{modelrepo.ErrTooLarge, http.StatusRequestEntityTooLarge, "too-large"},
		{modelrepo.ErrDamaged, http.StatusInternalServerError, "damaged"},
		{modelrepo.ErrQuota, http.StatusInsufficientStorage, "quota"},
	}
}
