package server

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/peterbourgon/ff/v3"
)

// Flags is the set of flags of a server. Every flag can also be given by an
// environment variable, its name in upper case behind the prefix with
// underscores for hyphens, or by a line "name value" of the file that the flag
// config names. A flag goes before the environment, the environment before
// the file, the file before the default. An empty environment variable counts
// as not set.
//
// The flag config is there from the start; the others are the command's to
// declare.
type Flags struct {
	*flag.FlagSet
	prefix string
	about  string
}

// NewFlags returns the flags of a command. The prefix of its environment
// variables is in upper case and without the underscore; about is what -h says
// about the command before it lists the flags.
func NewFlags(command, prefix, about string) *Flags {
	f := &Flags{FlagSet: flag.NewFlagSet(command, flag.ContinueOnError), prefix: prefix, about: about}
	f.SetOutput(io.Discard) // errors are returned, and usage is Help's
	f.String("config", "", "a `file` of settings: a flag's name and its value on each line, # before a comment")
	return f
}

// Parse reads the settings. The error is [flag.ErrHelp] when help is asked
// for, and otherwise says which setting of which source is wrong.
func (f *Flags) Parse(args []string) error {
	err := ff.Parse(f.FlagSet, args,
		ff.WithEnvVarPrefix(f.prefix),
		ff.WithConfigFileFlag("config"),
		ff.WithConfigFileParser(ff.PlainParser),
	)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return flag.ErrHelp
	case err != nil:
		return fmt.Errorf("read settings: %w (see %s -h)", err, f.Name())
	case f.NArg() > 0:
		return fmt.Errorf("read settings: unexpected argument %q (see %s -h)", f.Arg(0), f.Name())
	}
	return nil
}

// Variable returns the name of a flag's environment variable.
func (f *Flags) Variable(name string) string {
	return f.prefix + "_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// Help writes what the command is for, and every flag with its environment
// variable and default.
func (f *Flags) Help(w io.Writer) {
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n\nusage: %s [flags]\n\n", strings.TrimSpace(f.about), f.Name())
	text.WriteString("A flag goes before its environment variable, that before the file of -config,\nand that before the default.\n")
	f.VisitAll(func(one *flag.Flag) {
		kind, usage := flag.UnquoteUsage(one)
		fmt.Fprintf(&text, "\n  -%s %s\n", one.Name, kind)
		fmt.Fprintf(&text, "      %s\n", usage)
		fmt.Fprintf(&text, "      environment %s", f.Variable(one.Name))
		if one.DefValue != "" {
			fmt.Fprintf(&text, ", default %s", one.DefValue)
		}
		text.WriteString("\n")
	})
	_, _ = io.WriteString(w, text.String()) // nobody to tell if it fails
}
