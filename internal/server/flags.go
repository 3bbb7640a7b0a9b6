package server

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/peterbourgon/ff/v3"
	"go.opentelemetry.io/otel/trace"

	"github.com/iotenablers/enablers/internal/cli"
	"github.com/iotenablers/enablers/internal/version"
)

// Flags is the set of flags of a server. Each flag can also be set by an environment
// variable: the name of the flag in upper case after the prefix, with underscores for
// hyphens, or the name of SetVariable. It can also be set by a line "name value" of the
// file that the flag config names. A flag takes precedence over the environment, the
// environment over the file, the file over the default. An empty environment variable
// counts as not set.
//
// NewFlags declares the flags config and version. The command declares the others.
//
// With the arguments "completion SHELL" a command prints a script with which the shell
// completes its flags.
type Flags struct {
	*flag.FlagSet
	// Commands are the subcommands that shells complete. What runs them is the command's own.
	Commands []cli.Command

	prefix    string
	about     string
	variables map[string]string // of the flags whose variables have other names
	version   bool
	shell     []string // what comes after the word completion
	log       logging
	file      map[string]string // the lines of the file of -config, by flag
	ahead     map[string]bool   // the flags that are set by what goes before the file

	drainDelay positiveDuration
	traces     TraceOpener // nil traces nothing

	connections *Connections // nil without the flag
	access      *AccessLog   // nil without the flag
}

// ErrVersion is returned by [Flags.Parse] when the flag version is set.
var ErrVersion = errors.New("the version is requested")

// ErrCompletion is returned by [Flags.Parse] when the arguments ask for a completion script.
var ErrCompletion = errors.New("the completion of a shell is requested")

// versionFlag is a flag of the command line only: a deployment may use the environment
// variable of that name for something else.
const versionFlag = "version"

// NewFlags returns the flags of a command. The prefix of its environment
// variables is in upper case and without the underscore; about is what -h says
// about the command before it lists the flags.
func NewFlags(command, prefix, about string) *Flags {
	f := &Flags{FlagSet: flag.NewFlagSet(command, flag.ContinueOnError), prefix: prefix, about: about, variables: map[string]string{}}
	f.SetOutput(io.Discard) // errors are returned, and usage is Help's
	f.String("config", "", "a `file` of settings: a flag's name and its value on each line, # before a comment")
	f.BoolVar(&f.version, versionFlag, false, "print the version and end")
	return f
}

// SetVariable gives the environment variable of a flag another name than the
// prefix makes.
func (f *Flags) SetVariable(name, variable string) { f.variables[name] = variable }

// Serve is the frame of a command: with the error of [Flags.Parse] it prints the help, the
// version or the script that was asked for, or returns the error as one of usage; without one
// it opens the log, calls serve and closes the log. The context of serve has what [Run] and
// [HTTP] do for the whole process: metrics, traces, reloading at a SIGHUP, and notes to the
// service manager.
func (f *Flags) Serve(ctx context.Context, parsed error, stdout, stderr io.Writer,
	serve func(ctx context.Context, log *slog.Logger) error) error {
	switch {
	case errors.Is(parsed, flag.ErrHelp):
		f.Help(stdout)
		return nil
	case errors.Is(parsed, ErrVersion):
		_, _ = fmt.Fprintf(stdout, "%s %s\n", f.Name(), version.String()) // as Help
		return nil
	case errors.Is(parsed, ErrCompletion):
		return cli.Program{Name: f.Name(), Flags: f.FlagSet, Commands: f.Commands}.Complete(stdout, f.shell)
	case parsed != nil:
		return cli.Usage(parsed)
	}
	if f.access != nil {
		stderr = &exclusive{to: stderr} // both logs may write there
	}
	log, file, err := f.log.open(stderr)
	if err != nil {
		return err
	}
	access := f.access
	if access != nil && access.choice == accessOff {
		access = nil
	}
	if access != nil {
		if err := access.open(stderr, log); err != nil {
			return errors.Join(err, file.Close())
		}
	}
	if f.connections != nil {
		f.connections.log = log
	}
	var provider trace.TracerProvider
	flush := func() {}
	if f.traces != nil {
		provider, flush = f.traces(ctx, f.Name(), log)
	}
	ctx, process := newProcess(ctx, f, log, provider)
	process.access = access
	defer process.close()
	err = serve(ctx, log)
	flush()
	return errors.Join(err, access.close(), file.Close())
}

// TraceOpener opens the export of the traces of a command. The provider is nil if nothing is
// exported; what prevents that is logged, since no server has to stop for want of traces. Flush
// exports what is left, within a time of its own.
type TraceOpener func(ctx context.Context, command string, log *slog.Logger) (_ trace.TracerProvider, flush func())

// Traces sets what opens the export of traces.
func (f *Flags) Traces(open TraceOpener) { f.traces = open }

// Names reads a list of names with commas between, as flags have them. Spaces around a
// name have no meaning, and neither have empty names.
func Names(text string) []string {
	var list []string
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" {
			list = append(list, name)
		}
	}
	return list
}

// Parse reads the settings. The error is [flag.ErrHelp] with the flag h or help,
// [ErrVersion] with the flag version, [ErrCompletion] with the word completion first, and
// otherwise names the wrong setting, its source and what to do.
func (f *Flags) Parse(args []string) error {
	if len(args) > 0 && args[0] == cli.CompletionWord {
		f.shell = args[1:]
		return ErrCompletion
	}
	if err := f.FlagSet.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return flag.ErrHelp
		}
		return f.wrong(f.advised(err))
	}
	if f.version {
		return ErrVersion
	}
	if f.NArg() > 0 {
		return f.wrong(fmt.Errorf("unexpected argument %q%s", f.Arg(0), f.remedy(f.Arg(0))))
	}
	if err := f.readEnvironment(); err != nil {
		return f.wrong(err)
	}
	f.ahead, f.file = map[string]bool{}, map[string]string{}
	f.Visit(func(one *flag.Flag) { f.ahead[one.Name] = true })
	// Parse of ff changes no flag that is set already.
	if err := ff.Parse(f.FlagSet, nil, ff.WithConfigFileFlag("config"), ff.WithConfigFileParser(f.parseFile)); err != nil {
		return f.wrong(err)
	}
	if f.version {
		return f.wrong(errors.New("version is for the command line, not for the file of -config"))
	}
	return nil
}

// parseFile reads the file of -config. An error has the value, unless the flag is unknown: the
// value may be a secret then.
func (f *Flags) parseFile(r io.Reader, set func(name, value string) error) error {
	return ff.PlainParser(r, func(name, value string) error {
		err := set(name, value)
		f.file[name] = value
		switch {
		case err == nil:
			return nil
		case f.Lookup(name) != nil:
			return fmt.Errorf("invalid value %q: %w", value, err)
		}
		if meant := cli.Nearest(name, f.names()); meant != "" {
			return fmt.Errorf("%w; did you mean %s?", err, meant)
		}
		return err
	})
}

// advised adds the flag that was probably meant to the error about an unknown one.
func (f *Flags) advised(err error) error {
	_, name, unknown := strings.Cut(err.Error(), "flag provided but not defined: -")
	if !unknown {
		return err
	}
	if meant := cli.Nearest(name, f.names()); meant != "" {
		return fmt.Errorf("there is no flag -%s; did you mean -%s?", name, meant)
	}
	return fmt.Errorf("there is no flag -%s", name)
}

// remedy says what to do about an argument that is not a flag.
func (f *Flags) remedy(argument string) string {
	if argument == "true" || argument == "false" {
		return "; a flag that is on or off has its value after an equals sign, as in -version=" + argument
	}
	var commands []string
	for _, c := range f.Commands {
		commands = append(commands, c.Name)
	}
	for _, name := range append(f.names(), cli.CompletionWord) {
		if name == argument {
			return "; did you mean -" + name + "?"
		}
	}
	if meant := cli.Nearest(argument, append(commands, cli.CompletionWord)); meant != "" {
		return "; did you mean " + meant + "?"
	}
	return "; every setting is a flag, as in -config FILE"
}

// names returns the names of the flags.
func (f *Flags) names() []string {
	var names []string
	f.VisitAll(func(one *flag.Flag) { names = append(names, one.Name) })
	return names
}

func (f *Flags) wrong(err error) error {
	return fmt.Errorf("read settings: %w (see %s -h)", err, f.Name())
}

// readEnvironment sets the flags that are not set yet and whose variables are.
func (f *Flags) readEnvironment() error {
	var errs []error
	f.VisitAll(func(one *flag.Flag) {
		variable := f.Variable(one.Name)
		value := os.Getenv(variable)
		if one.Name == versionFlag || value == "" || f.Given(one.Name) {
			return
		}
		if err := f.Set(one.Name, value); err != nil {
			kind, _ := flag.UnquoteUsage(one)
			errs = append(errs, fmt.Errorf("environment variable %s: invalid value %q for -%s (%s): %w", variable, value, one.Name, kind, err))
		}
	})
	return errors.Join(errs...)
}

// Given reports whether any source has set the flag.
func (f *Flags) Given(name string) bool {
	given := false
	f.Visit(func(one *flag.Flag) { given = given || one.Name == name })
	return given
}

// Variable returns the name of a flag's environment variable.
func (f *Flags) Variable(name string) string {
	if variable, ok := f.variables[name]; ok {
		return variable
	}
	return f.prefix + "_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// Help writes what the command is for, and every flag with its environment
// variable and default.
func (f *Flags) Help(w io.Writer) {
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n\nusage: %s [flags]\n       %s completion %s\n\n", strings.TrimSpace(f.about), f.Name(),
		f.Name(), strings.Join(cli.Shells(), "|"))
	text.WriteString("A flag goes before its environment variable, that before the file of -config,\nand that " +
		"before the default. A line of the file is a flag's name without the\nhyphen, a space and its value.\n")
	f.VisitAll(func(one *flag.Flag) {
		kind, usage := flag.UnquoteUsage(one)
		fmt.Fprintf(&text, "\n  -%s %s\n", one.Name, kind)
		fmt.Fprintf(&text, "      %s\n", usage)
		if one.Name == versionFlag {
			return
		}
		fmt.Fprintf(&text, "      environment %s", f.Variable(one.Name))
		if one.DefValue != "" {
			fmt.Fprintf(&text, ", default %s", one.DefValue)
		}
		text.WriteString("\n")
	})
	_, _ = io.WriteString(w, text.String()) // the error cannot be reported
}
