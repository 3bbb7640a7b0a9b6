package cli

import (
	"fmt"
	"strings"
)

// fish returns the script for fish 3 and newer.
func (p Program) fish() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Completion of %s for fish: %s completion fish | source\ncomplete -c %s -f\n", p.Name, p.Name, p.Name)
	for _, c := range p.Commands {
		fmt.Fprintf(&b, "complete -c %s -n __fish_use_subcommand -a %s -d %s\n", p.Name, c.Name, quoted(c.About))
	}
	fishOptions(&b, p.Name, "not __fish_seen_subcommand_from "+p.names(), options(p.Flags))
	for _, c := range p.Commands {
		condition := "__fish_seen_subcommand_from " + c.Name
		if c.Name == CompletionWord {
			fmt.Fprintf(&b, "complete -c %s -n %s -a %s\n", p.Name, quoted(condition), quoted(strings.Join(Shells(), " ")))
		}
		if c.TakesFiles {
			fmt.Fprintf(&b, "complete -c %s -n %s -F\n", p.Name, quoted(condition))
		}
		fishOptions(&b, p.Name, condition, options(c.Flags))
	}
	return b.String()
}

// fishOptions writes the options that apply under a condition.
func fishOptions(b *strings.Builder, program, condition string, list []option) {
	for _, o := range list {
		value := map[taking]string{
			nothing: "", text: " -x", file: " -r -F", folder: " -x -a '(__fish_complete_directories)'",
			choice: " -x -a " + quoted(strings.Join(o.choices, " ")),
		}[o.takes]
		fmt.Fprintf(b, "complete -c %s -n %s -o %s -d %s%s\n", program, quoted(condition), o.name, quoted(o.about), value)
	}
}
