package apimgmt

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxName        = 100 // characters of the name of an enabler
	maxVersion     = 64  // characters of a version
	maxDescription = 4000
)

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
	case !utf8.ValidString(name) || !outer(first) || !outer(last) || strings.ContainsFunc(name, func(r rune) bool { return !inner(r) }):
		return errors.New("a name has letters, digits, spaces and ._- and begins and ends with a letter or digit")
	}
	return nil
}

func checkVersion(version string) error {
	switch {
	case version == "", version == ".", version == "..", utf8.RuneCountInString(version) > maxVersion:
		return fmt.Errorf("info.version: %q: between 1 and %d characters are needed, other than one or two dots alone", clip(version), maxVersion)
	case strings.ContainsFunc(version, func(r rune) bool { return r == '/' || unicode.IsControl(r) || r == utf8.RuneError }):
		return fmt.Errorf("info.version: %q has a slash or a control character", clip(version))
	}
	return nil
}

func checkDescription(text string) error {
	if utf8.RuneCountInString(text) > maxDescription || !utf8.ValidString(text) {
		return fmt.Errorf("the description is no text of up to %d characters", maxDescription)
	}
	return nil
}

// keyOf is the name under which an enabler is kept. Names that differ only in case,
// or in spaces and hyphens, have the same one.
func keyOf(name string) string { return plain(name) }

// plain is a text in lower case in which everything but letters, digits, "." and
// "_" is one hyphen: what the converter makes of names, too.
func plain(text string) string {
	var made strings.Builder
	gap := false
	for _, r := range text {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '.' && r != '_' {
			gap = made.Len() > 0
			continue
		}
		if gap {
			made.WriteByte('-')
			gap = false
		}
		made.WriteRune(unicode.ToLower(r))
	}
	return made.String()
}

// prefixOf is what the names of all entities of a version begin with. It is short
// enough for the converter to leave it as it is.
func prefixOf(key, version string) string {
	name := plain(key + "-" + version)
	const most = 60
	if len(name) <= most {
		return strings.Trim(name, ".")
	}
	sum := sha256.Sum256([]byte(name))
	cut := name[:most]
	for !utf8.ValidString(cut) {
		cut = cut[:len(cut)-1]
	}
	return strings.Trim(cut, ".-") + "-" + hex.EncodeToString(sum[:4])
}

// ownerPrefix begins the tags by which a gateway knows whose an entity is.
const ownerPrefix = "enabler:"

func ownerOf(key string) string { return ownerPrefix + key }
