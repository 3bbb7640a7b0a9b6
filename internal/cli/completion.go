package cli

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

// CompletionWord is the argument that asks a command for a script: NAME completion SHELL.
const CompletionWord = "completion"

// Shells returns the shells that [Program.Complete] knows.
func Shells() []string { return []string{"bash", "zsh", "fish"} }

// Program is a command as shells complete it.
type Program struct {
	// Name is that of the executable.
	Name string
	// Flags are those without a subcommand. Nil means none.
	Flags *flag.FlagSet
	// Commands are the subcommands.
	Commands []Command
}

// Command is a subcommand of a program.
type Command struct {
	// Name is the word after that of the program, About what the subcommand does.
	Name, About string
	// Flags are those of the subcommand. Nil means none.
	Flags *flag.FlagSet
	// TakesFiles reports whether its other arguments are files or folders.
	TakesFiles bool
}

// Chooser is a value of a flag that is one of several words.
type Chooser interface {
	// Choices returns the words that are allowed.
	Choices() []string
}

// Complete writes the script for the shell that the arguments after [CompletionWord] name.
// The error says how to ask.
func (p Program) Complete(w io.Writer, args []string) error {
	p.Commands = append(slices.Clone(p.Commands), Command{Name: CompletionWord, About: "print the completion script of a shell"})
	scripts := map[string]func() string{"bash": p.bash, "zsh": p.zsh, "fish": p.fish}
	if len(args) != 1 || scripts[args[0]] == nil {
		return Usage(fmt.Errorf("%s: expected one of %s, got %q, as in: source <(%s completion bash)",
			CompletionWord, strings.Join(Shells(), ", "), strings.Join(args, " "), p.Name))
	}
	_, err := io.WriteString(w, scripts[args[0]]())
	return err
}

// What the value of an option is.
type taking int

const (
	nothing taking = iota
	text
	file
	folder
	choice
)

// option is a flag as a script has it.
type option struct {
	name, about, kind string
	takes             taking
	choices           []string
}

// options returns the flags in the order of their names.
func options(flags *flag.FlagSet) []option {
	if flags == nil {
		return nil
	}
	var list []option
	flags.VisitAll(func(f *flag.Flag) {
		kind, about := flag.UnquoteUsage(f)
		o := option{name: f.Name, kind: kind, about: firstClause(about), takes: text}
		chooser, isChooser := f.Value.(Chooser)
		boolean, isBool := f.Value.(interface{ IsBoolFlag() bool })
		switch {
		case isBool && boolean.IsBoolFlag():
			o.takes = nothing
		case isChooser:
			o.takes, o.choices = choice, chooser.Choices()
		case strings.EqualFold(kind, "file"):
			o.takes = file
		case strings.EqualFold(kind, "folder"):
			o.takes = folder
		}
		list = append(list, o)
	})
	return list
}

// firstClause returns the beginning of a usage that fits beside the name of a flag.
func firstClause(about string) string {
	for _, end := range []string{"; ", ": ", ". ", " (", ", or "} {
		about, _, _ = strings.Cut(about, end)
	}
	const most = 70
	if runes := []rune(about); len(runes) > most {
		about = string(runes[:most-1]) + "…"
	}
	return strings.TrimSpace(about)
}

// function returns a name for functions of scripts.
func (p Program) function() string { return "_" + strings.ReplaceAll(p.Name, "-", "_") }

// names returns the names of the subcommands.
func (p Program) names() string {
	var names []string
	for _, c := range p.Commands {
		names = append(names, c.Name)
	}
	return strings.Join(names, " ")
}

// quoted returns a text between single quotes, as all three shells read it: a quote within
// becomes a typographic one.
func quoted(s string) string {
	return "'" + strings.NewReplacer("'", "’", `\`, `/`, "\n", " ").Replace(s) + "'"
}
