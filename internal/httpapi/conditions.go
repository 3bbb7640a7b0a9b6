package httpapi

import (
	"fmt"
	"net/http"
	"strings"
)

// EntityTag is an entity tag of RFC 9110 section 8.8.3.
type EntityTag struct {
	// Value is the text between the quotation marks, which has none itself.
	Value string
	// Weak is set for a tag that begins with W/.
	Weak bool
}

// String returns the tag as the ETag field has it.
func (t EntityTag) String() string {
	if t.Weak {
		return `W/"` + t.Value + `"`
	}
	return `"` + t.Value + `"`
}

// EntityTags is the value of an If-Match or If-None-Match field (RFC 9110 sections
// 13.1.1 and 13.1.2). The zero value is that of a request without the field.
//
// The field If-Range (section 13.1.5) has no list: [http.ServeContent] reads it.
type EntityTags struct {
	// Any is set for *, which every current representation matches. The list is
	// empty then. It is not the tag "*" in quotation marks.
	Any bool
	// List has the tags in the order of the field lines.
	List []EntityTag
}

// ReadEntityTags reads all lines of a field with entity tags. An empty line and
// empty elements between tags have no meaning (section 5.6.1.2). Anything else that
// is not * alone or a list of entity tags is an [*Error] with status 400, and so are
// commas without a tag.
func ReadEntityTags(header http.Header, name string) (EntityTags, error) {
	var tags EntityTags
	malformed := func() (EntityTags, error) {
		detail := fmt.Sprintf("The '%s' header is not a list of entity tags.", name)
		return EntityTags{}, &Error{Status: http.StatusBadRequest, Detail: detail}
	}
	given := false
	for _, line := range header.Values(name) {
		rest := strings.Trim(line, " \t")
		if rest == "" {
			continue
		}
		if tags.Any || (given && rest == "*") {
			return malformed() // * stands alone
		}
		given = true
		if rest == "*" {
			tags.Any = true
			continue
		}
		for rest = strings.TrimLeft(rest, " \t,"); rest != ""; rest = strings.TrimLeft(rest, " \t,") {
			tag, after, ok := cutEntityTag(rest)
			rest = strings.TrimLeft(after, " \t")
			if !ok || (rest != "" && rest[0] != ',') {
				return malformed()
			}
			tags.List = append(tags.List, tag)
		}
	}
	if given && !tags.Any && len(tags.List) == 0 {
		return malformed()
	}
	return tags, nil
}

// cutEntityTag reads the tag at the beginning of a text and returns what follows it.
func cutEntityTag(text string) (tag EntityTag, after string, ok bool) {
	text, tag.Weak = strings.CutPrefix(text, "W/")
	text, opened := strings.CutPrefix(text, `"`)
	tag.Value, after, ok = strings.Cut(text, `"`)
	for _, c := range []byte(tag.Value) {
		ok = ok && c > ' ' && c != 0x7f
	}
	return tag, after, ok && opened
}

// Strong returns texts that compare like the tags in a strong comparison (section
// 8.8.3.2) with values of strong tags: * for any, the value of a strong tag, and a
// weak tag in its whole form, which equals no value.
func (t EntityTags) Strong() []string { return t.texts(true) }

// Weak returns texts that compare like the tags in a weak comparison with values of
// strong tags: * for any, and the value of each tag.
func (t EntityTags) Weak() []string { return t.texts(false) }

func (t EntityTags) texts(strong bool) []string {
	if t.Any {
		return []string{"*"}
	}
	var texts []string
	for _, tag := range t.List {
		if (strong && tag.Weak) || tag.Value == "*" {
			texts = append(texts, tag.String()) // with quotation marks, which no value has
		} else {
			texts = append(texts, tag.Value)
		}
	}
	return texts
}
