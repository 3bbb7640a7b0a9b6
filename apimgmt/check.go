package apimgmt

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/iotenablers/enablers/apimgmt/definition"
)

// What callers may say of an API is checked here, for the Go interface, the REST interface
// and the portal alike. [Error.Field] names what is wrong.

const (
	maxName        = 100 // characters of the name of an enabler
	maxVersion     = 64  // characters of a version
	maxDescription = 4000
	maxLink        = 2000 // bytes
)

// Check returns an error for each invalid field of the upload besides the definition, in the
// order of the fields. [Publisher.Publish] returns the first.
func (u Upload) Check() []*Error {
	var found []*Error
	add := func(field string, err error) {
		if err != nil {
			found = append(found, invalid(opPublish, clip(u.Enabler), field, err))
		}
	}
	add("enabler", checkName(u.Enabler))
	add("description", checkDescription(u.Description))
	add("state", checkUploadState(u.State))
	add("server", checkServer(u.Server))
	add("path", checkPath(u.Path))
	return found
}

// check returns what is wrong with a transition.
func (t Transition) check() error {
	switch {
	case t.State.check() != nil:
		return t.State.check()
	case t.Link != "" && !validLink(t.Link):
		return errors.New("link: expected http://… or https://…")
	case t.State != Deprecated && (t.Link != "" || !t.Sunset.IsZero()):
		return fmt.Errorf("sunset and link are for the state %s", Deprecated)
	}
	return nil
}

// checkSunset checks that a version does not end before it is deprecated.
func (e *edition) checkSunset() error {
	if e.Sunset != nil && e.Deprecated != nil && e.Sunset.Before(*e.Deprecated) {
		return fmt.Errorf("sunset: %s is before the deprecation, %s",
			e.Sunset.Format(time.RFC3339), e.Deprecated.Format(time.RFC3339))
	}
	return nil
}

// checkName checks the name of an enabler: letters, digits, spaces and "._-",
// beginning and ending with a letter or digit.
func checkName(name string) error {
	inner := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || r == ' ' || r == '.' || r == '_' || r == '-'
	}
	outer := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	first, _ := utf8.DecodeRuneInString(name)
	last, _ := utf8.DecodeLastRuneInString(name)
	switch {
	case name == "":
		return errors.New("the name is empty")
	case utf8.RuneCountInString(name) > maxName:
		return fmt.Errorf("the name has more than %d characters", maxName)
	case !utf8.ValidString(name), !outer(first), !outer(last), strings.ContainsFunc(name, func(r rune) bool { return !inner(r) }):
		return errors.New("a name has letters, digits, spaces and ._- and begins and ends with a letter or digit")
	}
	return nil
}

func checkVersion(version string) error {
	switch {
	case version == "", version == ".", version == "..", utf8.RuneCountInString(version) > maxVersion:
		return fmt.Errorf("info.version: %q: between 1 and %d characters are needed, other than one or two dots alone",
			clip(version), maxVersion)
	case strings.ContainsFunc(version, func(r rune) bool { return r == '/' || unicode.IsControl(r) || r == utf8.RuneError }):
		return fmt.Errorf("info.version: %q has a slash or a control character", clip(version))
	}
	return nil
}

func checkDescription(text string) error {
	if utf8.RuneCountInString(text) > maxDescription || !utf8.ValidString(text) {
		return fmt.Errorf("the description is not a text of up to %d characters", maxDescription)
	}
	return nil
}

// checkUploadState checks the state of an upload; empty means Published.
func checkUploadState(s State) error {
	switch {
	case s == "":
		return nil
	case s.check() != nil:
		return s.check()
	case s != Published && s != Draft:
		return errors.New("a definition is published, or stored as a draft")
	}
	return nil
}

// checkServer checks the address that relative addresses of servers are relative to.
func checkServer(address string) error {
	if address != "" && !validLink(address) {
		return errors.New("expected http://HOST or https://HOST")
	}
	return nil
}

// checkPath checks the path of an upload.
func checkPath(path string) error {
	if path == "" || path == NoPath {
		return nil
	}
	return definition.CheckPath(path)
}

// validLink checks an address that is shown to users.
func validLink(link string) bool {
	u, err := url.Parse(link)
	odd := strings.ContainsFunc(link, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`<>"\`, r) })
	return err == nil && !odd && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil && len(link) <= maxLink
}

// clip shortens what a client has sent, for a message.
func clip(text string) string {
	const most = 80
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}
