package client

import (
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/modelrepo"
)

// errSeek is returned for a position before the beginning.
var errSeek = errors.New("seek before the beginning")

// refuse returns a [*modelrepo.Error].
func refuse(op string, at modelrepo.Path, kind error, format string, args ...any) error {
	return &modelrepo.Error{Op: op, Path: at.String(), Text: fmt.Sprintf(format, args...), Err: kind}
}

// failed puts the operation and the place before an error.
func failed(op string, at modelrepo.Path, cause error) error {
	var known *modelrepo.Error
	if errors.As(cause, &known) {
		return cause
	}
	return fmt.Errorf("%s %q: %w", op, at.String(), cause)
}

// notFound refuses a path that cannot name anything.
func notFound(op string, at modelrepo.Path) error {
	kind := [...]string{"Repository", "Namespace", "Model", "Model version"}[depth(at)]
	return refuse(op, at, modelrepo.ErrNotFound, "%s '%s' not found.", kind, at)
}

// depth returns how many parts the path has.
func depth(at modelrepo.Path) int {
	switch {
	case at.Version != "":
		return 3
	case at.Model != "":
		return 2
	case at.Namespace != "":
		return 1
	}
	return 0
}
