package archtest

import "fmt"

// rule is one rule of the plan.
type rule struct {
	name   string
	reason string // why the rule is there
	remedy string // what to do about a finding
	check  func(*tree) []finding
}

// finding is one place that breaks a rule.
type finding struct {
	at   string // file:line, or a folder
	what string
}

// explain returns the finding, the rule and the remedy.
func (r rule) explain(f finding) string {
	return fmt.Sprintf("%s: %s\n\trule %s: %s\n\tremedy: %s", f.at, f.what, r.name, r.reason, r.remedy)
}

// rules returns the rules in the order in which they are run.
func rules() []rule {
	return []rule{
		{
			name:   "import-table",
			reason: "a room knows only the rooms and the libraries that the plan gives it, so that it can be used and changed alone",
			remedy: "declare a small interface here and plug the two together in cmd, or change the row in " +
				"internal/archtest/table.go",
			check: checkImports,
		},
		{
			name:   "feature-packages",
			reason: "the building blocks are used one by one; none may drag another along",
			remedy: "declare the interface that is needed in the consumer and plug the two together in cmd or examples",
			check:  checkFeatures,
		},
		{
			name:   "test-imports",
			reason: "assertion libraries are for tests, and a test brings no library of its own",
			remedy: "move the code into a _test.go file or a ...test package, or allow the library in internal/archtest/table.go",
			check:  checkTestImports,
		},
		{
			name:   "links",
			reason: "a user links only the drivers that the program imports",
			remedy: "find the way with `go mod why -m` or `go list -deps` and cut it: the driver belongs into its own subpackage",
			check:  checkLinks,
		},
		{
			name:   "net-http",
			reason: "HTTP is one way in; the engine behind it works without it",
			remedy: "move the handler or client into a package that httpHomes in internal/archtest/exceptions.go lists",
			check:  checkHTTP,
		},
		{
			name:   "leaves",
			reason: "what is below internal serves every room and needs none of them",
			remedy: "move what composes features into cmd/internal, or declare the interface that is needed in the leaf",
			check:  checkLeaves,
		},
		{
			name: "constructors",
			reason: "all constructors have one form: Config by value where something is required, *Options where " +
				"nothing is; New does no input or output",
			remedy: "rename what does input or output to Open, with a context first; take *Options, which may be nil; take Config by value",
			check:  checkConstructors,
		},
		{
			name:   "handlers",
			reason: "a reader finds every REST interface in the same way",
			remedy: "write the method Handler() or Handler(*HandlerOptions), or the function NewHandler(x, " +
				"*HandlerOptions), with the result http.Handler, or http.Handler and error where options can be invalid; " +
				"Page and NewPage for pages",
			check: checkHandlers,
		},
		{
			name:   "readiness",
			reason: "a caller waits for readiness together with other things, in a select",
			remedy: "replace the callback by a method Ready() <-chan struct{} whose channel is closed when work can begin",
			check:  checkReadiness,
		},
		{
			name:   "package-doc",
			reason: "every package says in one place what it is for",
			remedy: `write one comment "Package name ..." above the package clause of doc.go, and only there`,
			check:  checkPackageDocs,
		},
		{
			name:   "symbol-doc",
			reason: "an exported symbol without a comment is a promise that no user can read",
			remedy: "write a full sentence that begins with the symbol's name: what it does, units, zero value, errors, concurrency",
			check:  checkSymbolDocs,
		},
		{
			name:   "examples",
			reason: "the first thing a reader wants of a constructor is a call of it that runs",
			remedy: "write an Example with an Output comment that is named after the constructor or calls it",
			check:  checkExamples,
		},
		{
			name:   "entry",
			reason: "the package comment of a building block begins with lines that a user can copy, and they have been compiled and run",
			remedy: "copy the body of func Example(), without its Output, into the package comment as its first indented block",
			check:  checkEntries,
		},
		{
			name:   "readme",
			reason: "code that a newcomer copies has been compiled and run",
			remedy: "make the lines a part of an Example with an Output, and copy them from there",
			check:  checkReadme,
		},
		{
			name:   "interface-size",
			reason: "an interface that others implement has at most five methods",
			remedy: "split the interface, or make it a struct over a smaller one",
			check:  checkInterfaces,
		},
		{
			name:   "no-init",
			reason: "importing a package has no effect",
			remedy: "do the work in a constructor, or compute the table in the variable's initialiser",
			check:  checkInit,
		},
		{
			name:   "no-globals",
			reason: "two instances in one process do not share state",
			remedy: "make it a field of the type that uses it, or a constant; only error sentinels, embedded " +
				"files, interface guards and unexported tables that nothing writes to may be variables",
			check: checkGlobals,
		},
		{
			name:   "quiet-library",
			reason: "a library prints nothing, ends nothing, takes no signals and touches no process-wide default",
			remedy: "return an error, or log to the *slog.Logger of the configuration; leave the rest to cmd",
			check:  checkCalls,
		},
		{
			name:   "no-sleep-in-tests",
			reason: "a test that sleeps is slow when it passes and wrong when the machine is slow",
			remedy: "wait with require.Eventually or a channel, or run in a testing/synctest bubble",
			check:  checkSleeps,
		},
		{
			name:   "main-packages",
			reason: "commands live where a user looks for them",
			remedy: "move the command into cmd or examples, or into the module in bench",
			check:  checkMains,
		},
		{
			name:   "file-size",
			reason: "a file has one noun; 150 to 400 lines is the comfortable size, 500 the end",
			remedy: "find the second noun and give it a file",
			check:  checkSizes,
		},
		{
			name:   "line-length",
			reason: "a line of code is read at a glance: 120 columns are the comfortable length, 140 the end",
			remedy: "break the line where a reader would: one entry of a table a line, one argument or clause a line",
			check:  checkLines,
		},
		{
			name:   "folder-size",
			reason: "a folder of more than 35 files mostly has a second noun in it",
			remedy: "find the package that asks to exist, or give the reason in largeFolders of internal/archtest/exceptions.go",
			check:  checkFolders,
		},
		{
			name:   "type-size",
			reason: "a type of more than 35 methods mostly has a second noun in it",
			remedy: "find the type that asks to exist, or give the reason in largeTypes of internal/archtest/exceptions.go",
			check:  checkTypes,
		},
		{
			name:   "test-names",
			reason: "the name of a test says which symbol it holds to which outcome",
			remedy: "name it Test<Symbol>[_<Method>][_<outcome>] after a symbol of the package, such as TestChannel_Stop_drainsInFlight",
			check:  checkTestNames,
		},
		{
			name:   "words",
			reason: "plain technical English is read once; idioms of this house are read twice",
			remedy: "name the component and what it does, with the words of docs/glossary.md",
			check:  checkWords,
		},
		{
			name:   "names",
			reason: "a name says what lives there; these would take anything",
			remedy: "name the folder or file after its noun",
			check:  checkNames,
		},
		{
			name:   "go-mod",
			reason: "a replace directive is ignored in other modules, so what we test would not be what users get",
			remedy: "require a published version",
			check:  checkGoMod,
		},
	}
}
