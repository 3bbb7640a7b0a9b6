package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/minio/minio-go/v7"

	"github.com/iotenablers/enablers/storage"
)

// explain translates an error of the library to one of package storage, with a
// hint for the operator. The contexts are those of the caller. No text shows a
// request, because its headers contain a signature.
func (s *Store) explain(err error, contexts ...context.Context) error {
	for _, known := range []error{storage.ErrNotFound, storage.ErrClosed, errDamaged} {
		if errors.Is(err, known) {
			return err
		}
	}
	for _, ctx := range contexts {
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	var response minio.ErrorResponse
	if errors.As(err, &response) {
		return s.explainAnswer(response)
	}
	var request *url.Error
	if errors.As(err, &request) {
		err = request.Err // without the address of the object
		return fmt.Errorf("%w: S3 at %s: %w%s", storage.ErrUnavailable, s.config.Endpoint, err, hint(err))
	}
	var network net.Error
	if errors.As(err, &network) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: S3 at %s: %w", storage.ErrUnavailable, s.config.Endpoint, err)
	}
	return err
}

func (s *Store) explainAnswer(response minio.ErrorResponse) error {
	// The message may come from any server at this address.
	said := fmt.Sprintf("%.60s: %.300s", response.Code, response.Message)
	switch response.Code {
	case minio.NoSuchBucket:
		return fmt.Errorf("the bucket %q does not exist at %s: create it, or set Config.CreateBucket", s.config.Bucket,
			s.config.Endpoint)
	case "InvalidAccessKeyId", minio.SignatureDoesNotMatch, "InvalidToken", "ExpiredToken", "TokenRefreshRequired":
		return fmt.Errorf("S3 at %s refuses the credentials: %s", s.config.Endpoint, said)
	case minio.AccessDenied:
		return fmt.Errorf("S3 at %s does not allow this for the bucket %q: %s", s.config.Endpoint, s.config.Bucket, said)
	case "RequestTimeTooSkewed":
		return fmt.Errorf("S3 at %s refuses the request because its clock and that of this machine are too far apart, "+
			"set the clock: %s", s.config.Endpoint, said)
	case minio.NoSuchUpload:
		return fmt.Errorf("the upload was removed, as happens at the age of Config.UploadAge: %s", said)
	}
	if response.StatusCode == http.StatusInsufficientStorage || isFull(response.Code) {
		return fmt.Errorf("%w: S3 at %s: %s", storage.ErrFull, s.config.Endpoint, said)
	}
	if response.StatusCode == http.StatusTooManyRequests || response.StatusCode >= http.StatusInternalServerError ||
		response.Code == "SlowDown" {
		return fmt.Errorf("%w: S3 at %s: %s", storage.ErrUnavailable, s.config.Endpoint, said)
	}
	return fmt.Errorf("S3 at %s: %s", s.config.Endpoint, said)
}

// isFull reports whether a code of MinIO or Ceph says that there is no space.
func isFull(code string) bool {
	return code == "XMinioStorageFull" || code == "XMinioAdminBucketQuotaExceeded" || code == "QuotaExceeded"
}

// hint returns the advice to the operator.
func hint(err error) string {
	switch err.Error() {
	case "http: server gave HTTP response to HTTPS client":
		return " (set Config.Insecure for a server without TLS)"
	}
	return ""
}

// failed puts the verb and the key before the cause. The precision keeps every
// valid key whole and bounds the length of an invalid one in logs.
func failed(verb, key string, cause error) error {
	return fmt.Errorf("%s %.*q: %w", verb, storage.MaxKeyLength, key, cause)
}
