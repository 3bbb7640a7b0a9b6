package host

import (
	"errors"
	"fmt"
	"time"

	"github.com/iotenablers/enablers/cmd/internal/door"
	"github.com/iotenablers/enablers/cmd/internal/stores"
	"github.com/iotenablers/enablers/cmd/internal/telemetry"
	"github.com/iotenablers/enablers/internal/server"
)

// Flags are the flags of a server: those that every server has, and those that its command
// declares. Make them with [NewFlags].
type Flags struct {
	*server.Flags
	// Door has the flags of access and TLS.
	Door *door.Settings
	// Stores has the flags of the stores, nil without [Flags.DeclareStores].
	Stores *stores.Settings
	// Bound bounds the connections to the listeners.
	Bound *server.Connections

	wrong []error
}

// NewFlags returns the flags of a command, as [server.NewFlags] does, and declares those that
// every server has.
func NewFlags(command, prefix, about string) *Flags {
	f := &Flags{Flags: server.NewFlags(command, prefix, about)}
	f.Bound = f.Connections()
	f.Door = door.Declare(f.Flags)
	f.Logging("log/" + command + ".log")
	f.Lifecycle()
	f.Traces(telemetry.Open)
	return f
}

// DeclareStores declares the flags of the stores. The drivers are those besides folders and memory.
func (f *Flags) DeclareStores(texts stores.Texts, drivers ...stores.Driver) {
	f.Stores = stores.Declare(f.Flags, texts, drivers...)
}

// Listener declares the flag of a listener and returns the listener, of which the name is that in
// the line of its address.
func (f *Flags) Listener(flag, address, name, usage string) *Listener {
	l := &Listener{Flag: flag, Name: name}
	f.StringVar(&l.Address, flag, address, usage)
	return l
}

// Read reads the settings. The error is that of [server.Flags.Parse], or else of [Flags.Validate].
func (f *Flags) Read(args []string, check func()) error {
	if err := f.Parse(args); err != nil {
		return err
	}
	return f.Validate(check)
}

// Validate returns everything that is wrong with the settings that were parsed. Check notes what
// cannot work of them, by [Flags.Wrong].
func (f *Flags) Validate(check func()) error {
	f.wrong = nil
	check()
	errs := f.wrong
	if f.Stores != nil {
		errs = append(errs, f.Stores.Check())
	}
	return errors.Join(append(errs, f.Door.Check())...)
}

// Wrong notes that the value of a flag cannot work, for [Flags.Validate].
func (f *Flags) Wrong(name, format string, args ...any) {
	f.wrong = append(f.wrong, fmt.Errorf("-%s (%s): %w", name, f.Variable(name), fmt.Errorf(format, args...)))
}

// Between notes a number of a flag that is not between two others.
func (f *Flags) Between(name string, value, least, most int64) {
	if value < least || value > most {
		f.Wrong(name, "expected %d to %d, got %d", least, most, value)
	}
}

// Positive notes a time of a flag that is not above 0.
func (f *Flags) Positive(name string, value time.Duration) {
	if value <= 0 {
		f.Wrong(name, "expected more than nothing, got %v", value)
	}
}
