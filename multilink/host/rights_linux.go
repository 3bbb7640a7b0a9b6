package host

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/settings"
)

const (
	loopback = "lo"
	// maxInterface is the longest name of an interface: IFNAMSIZ less the end.
	maxInterface = 15
)

// validInterface reports whether s can name an interface that is to be created.
func validInterface(s string) bool { return settings.ValidName(s) && len(s) <= maxInterface }

// permit returns an error for an operation that the options exclude.
func (o *Options) permit(operation Operation, name string) error {
	if len(o.Allow) == 0 {
		return nil
	}
	for _, allowed := range o.Allow {
		if allowed == operation {
			return nil
		}
	}
	return fmt.Errorf("the settings exclude the operation %q on %q; add it to the allowed operations (Options.Allow): %w",
		operation, name, multilink.ErrDenied)
}

// touch returns an error for an interface that the options exclude.
func (o *Options) touch(name string) error {
	if name == loopback {
		return fmt.Errorf("interface %q is never touched: %w", name, multilink.ErrDenied)
	}
	if len(o.Interfaces) == 0 {
		return nil
	}
	for _, pattern := range o.Interfaces {
		if ok, _ := path.Match(pattern, name); ok {
			return nil
		}
	}
	return fmt.Errorf("the settings exclude interface %q; they allow %s; add it to the allowed interfaces (Options.Interfaces): %w",
		name, strings.Join(o.Interfaces, ", "), multilink.ErrDenied)
}

const capability = "CAP_NET_ADMIN"

// denied adds to an error of missing rights the name of the right and how to grant
// it. It returns other errors as they are.
func denied(err error, right string) error {
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return fmt.Errorf("%w: the process lacks %s: give it by AmbientCapabilities=%s in its systemd unit, "+
		"by setcap %s+ep on the program, or run it as root: %w", err, right, right, strings.ToLower(right), multilink.ErrDenied)
}
