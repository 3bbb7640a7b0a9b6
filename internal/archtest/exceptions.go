package archtest

// httpHomes are the packages that speak a protocol over HTTP, and may import net/http: REST
// handlers, clients, pages, commands. The engines below them, annotate, annotate/rml,
// annotate/rdf, storage without s3, and multilink, are never among them. Tests may import it
// everywhere.
func httpHomes() []string {
	return []string{
		"internal/access", "internal/exposition", "internal/httpapi/...", "internal/httpclient", "internal/server/...", "internal/shell",
		"storage/s3/...",
		"annotate/manager/rest", "annotate/manager/page", "annotate/internal/endpoint", "annotate/ngsild", "annotate/sparql", "annotate/rml/web",
		"modelrepo/client", "modelrepo/page", "modelrepo/rest", "modelrepo/internal/web", "modelrepo/internal/webhook",
		"modelrepo/internal/wire", "modelrepo/modelrepotest",
		"flcollect/flower", "flcollect/internal/jobstest", "flcollect/orchestrator", "flcollect/page", "flcollect/repository/...",
		"flcollect/rest", "flcollect/supernode/...",
		"apimgmt/client", "apimgmt/gateway/...", "apimgmt/internal/apitest", "apimgmt/internal/wire", "apimgmt/kong", "apimgmt/oidc/...",
		"apimgmt/portal", "apimgmt/rest",
		"multilink/node/rest", "multilink/node/page", "multilink/node/internal/nodetest",
		"cmd/...", "examples/...", "test/...",
	}
}

// programs are the folders where commands live, and what only commands use.
// What runs there may print, exit and take signals.
func programs() []string {
	return []string{"cmd/...", "internal/cli", "internal/server", "examples/...", "test/..."}
}

// commandFolders are the folders that may hold commands. Below test these are programs that run in
// virtual machines, and the one that starts the servers that the tests of all packages share.
func commandFolders() []string {
	return []string{"cmd/...", "examples/...", "test/multilink/vm/...", "test/peers"}
}

// pureFunctions, besides those of the standard library, make values that variables may hold as if
// they were constants.
func pureFunctions() []string {
	const rdf = "github.com/iotenablers/enablers/annotate/rdf."
	return []string{rdf + "NewIRI", rdf + "NewBlank", rdf + "NewLiteral", rdf + "NewTyped", rdf + "NewLang", rdf + "AppendTerm",
		text + "/encoding/unicode.UTF16", "github.com/iotenablers/enablers/internal/keep.TypeFor"}
}

// linkerVariables are the variables that the linker sets, by -X, and no code
// writes to.
func linkerVariables() []string { return []string{"internal/version.stamped"} }

// testCode are the folders that hold code for tests only, beside the suites,
// whose names end in "test".
func testCode() []string { return []string{"test/...", "internal/conformance"} }

// private are the folders whose packages a user of the module cannot or would
// not import. They need no Example.
func private() []string {
	return []string{"cmd/...", "examples/...", "test/...", "internal/..."}
}

// largeFiles are the files that may be longer than 500 lines, with the reason.
func largeFiles() map[string]string { return map[string]string{} }

// largeFolders are the folders that may have more than 35 Go files besides tests, with the
// reason.
func largeFolders() map[string]string {
	return map[string]string{
		"annotate/rml": "one language from text to statements: load_ reads a mapping, plan and explain compile it, and the other " +
			"files interpret it; what stands alone is in internal",
	}
}

// largeTypes are the types ("folder.Name") that may have more than 35 methods, with the
// reason.
func largeTypes() map[string]string {
	return map[string]string{
		"annotate/rml.Mapper": "the interpreter of a plan: a method for each kind of step and term, over one output, " +
			"one set of stacks and one budget",
		"annotate/rml/yarrrml.reader":           "a recursive-descent reader: a method for each kind of node of a document",
		"annotate/rml.loader":                   "a recursive-descent reader: a method for each kind of node of a mapping document",
		"annotate/rml/internal/csvdoc.Document": "a CSV document and its readers: the strict and the lenient one share its cells",
		"annotate/rml/internal/jsondoc.Document": "a JSON document and the evaluation of JSONPath on it: a method for " +
			"each kind of selector, operator and function",
		"annotate/rml/internal/jsondoc.parser": "a recursive-descent parser of two grammars, RFC 9535 and Jayway: a method " +
			"for each production",
		"annotate/rml/internal/xpath.evaluation": "the state of one evaluation: a method for each kind of operand, conversion and operator",
		"annotate/rml/internal/xpath.parser":     "a recursive-descent parser: a method for each production of the grammar",
		"annotate/rml/internal/xmldoc.Document":  "an XML document and its reader: a method for each production of the grammar",
		"apimgmt/gateway.Exchange":               "accessors for plugins, one line each",
		"modelrepo/client.Client":                "the methods of modelrepo.Store, over HTTP",
		"modelrepo.Store":                        "one method an operation of the repository, short over tree, contents and webhooks",
		"modelrepo/rest.rest":                    "one method a route",
	}
}

// freeTestNames are the folders where the first word of a test's name is free: what they
// test is not declared there.
func freeTestNames() []string {
	return []string{"test/...", "examples/...", "cmd/internal/management/load"}
}

// largeInterfaces are the interfaces ("folder.Name") that may have more than
// five methods, with the reason.
func largeInterfaces() map[string]string { return map[string]string{} }

// vagueNames are names that folders, files and packages do not have.
func vagueNames() []string {
	return []string{"util", "utils", "common", "helper", "helpers", "misc", "shared", "stuff"}
}
