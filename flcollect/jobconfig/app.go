package jobconfig

import (
	"fmt"
	"math"
	"strings"
)

// maxApp bounds the name of an app, in bytes.
const maxApp = 256

// CheckApp returns nil for the name of an app: "publisher/name" or
// "publisher/name==version", of letters, digits, dots, hyphens and underscores; versions
// may have plus signs and exclamation marks, as those of Python packages do (PEP 440).
func CheckApp(app string) error {
	if len(app) > maxApp {
		return fmt.Errorf("has %d bytes, at most %d", len(app), maxApp)
	}
	id, version, versioned := strings.Cut(app, "==")
	publisher, name, _ := strings.Cut(id, "/")
	if !isWord(publisher, "._-") || !isWord(name, "._-") || versioned && !isWord(version, "._-+!") {
		return fmt.Errorf("is %q, must be \"publisher/name\" or \"publisher/name==version\"", app)
	}
	return nil
}

// isWord reports whether text has letters and digits of ASCII, and the other characters,
// and does not begin with one of these.
func isWord(text, others string) bool {
	for i, c := range []byte(text) {
		alphanumeric := c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !alphanumeric && (i == 0 || strings.IndexByte(others, c) < 0) {
			return false
		}
	}
	return text != ""
}

// app reads the app of SuperNodes, and how its messages carry a model.
func (p *parser) app(c *Config, members members) {
	if v := members.at("app"); v.given() {
		c.App = v.text(1)
		if c.App == "" {
			return // it is reported
		}
	}
	server := members.at("server_conf")
	if server.given() && server.raw[0] == '{' { // it is reported otherwise
		object, _ := server.object(math.MaxInt)
		if v := object.at("records"); v.given() {
			c.Records = v.text(1)
		}
	}
	c.Records = c.completeRecords()
	for _, fault := range c.appFaults() {
		v := value{parser: p, path: fault.Path}
		v.report(fault)
	}
}

// completeRecords returns how the messages of the job's app carry a model, with the
// default: what Flower's mod for secure aggregation understands, or else that of new apps.
func (c Config) completeRecords() string {
	switch {
	case c.App == "" || c.Records != "":
		return c.Records
	case c.SecAgg != nil:
		return FitIns
	}
	return Arrays
}

// appFaults returns what is wrong with the app and the records.
func (c Config) appFaults() (faults []Fault) {
	if c.App == "" && c.SecAgg != nil {
		faults = append(faults, Fault{Path: []any{"app"}, Kind: Invalid,
			Reason: "must name an app with secaggplus_mod where there is " + SecAgg + ": only SuperNodes can take part in it"})
	}
	if c.App != "" {
		if err := CheckApp(c.App); err != nil {
			faults = append(faults, Fault{Path: []any{"app"}, Kind: Invalid, Reason: err.Error()})
		}
	}
	reason := ""
	switch {
	case c.Records != "" && c.Records != Arrays && c.Records != FitIns:
		reason = fmt.Sprintf("is %q, must be %q for apps of the Message API, or %q for those with a client_fn", c.Records, Arrays, FitIns)
	case c.Records != "" && c.App == "":
		reason = "has a meaning only with an app"
	case c.App != "" && c.SecAgg != nil && c.Records != FitIns:
		reason = fmt.Sprintf("must be %q with %s: Flower's secaggplus_mod understands no others", FitIns, SecAgg)
	case c.App != "" && c.Homomorphic != nil && c.Records != FitIns:
		reason = fmt.Sprintf("must be %q where updates are encrypted: arrays of the Message API cannot be messages of CKKS", FitIns)
	}
	if reason != "" {
		faults = append(faults, Fault{Path: []any{"server_conf", "records"}, Kind: Invalid, Reason: reason})
	}
	return faults
}
