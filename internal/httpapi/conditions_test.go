package httpapi_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/httpapi"
)

func strong(value string) httpapi.EntityTag { return httpapi.EntityTag{Value: value} }
func weak(value string) httpapi.EntityTag   { return httpapi.EntityTag{Value: value, Weak: true} }

func lines(name string, values ...string) http.Header { return http.Header{name: values} }

func TestReadEntityTags_readsWhatRFC9110Allows(t *testing.T) {
	type list = []httpapi.EntityTag
	for _, c := range []struct {
		rule  string
		lines []string
		any   bool
		want  list
	}{
		{rule: "no field", lines: nil},
		{rule: "5.6.1: an empty list", lines: []string{""}},
		{rule: "5.6.1: an empty list", lines: []string{" \t", ""}},
		{rule: "8.8.3: strong", lines: []string{`"xyzzy"`}, want: list{strong("xyzzy")}},
		{rule: "8.8.3: weak", lines: []string{`W/"xyzzy"`}, want: list{weak("xyzzy")}},
		{rule: "8.8.3: empty", lines: []string{`""`}, want: list{strong("")}},
		{rule: "8.8.3: empty and weak", lines: []string{`W/""`}, want: list{weak("")}},
		{rule: "8.8.3: a comma in a tag", lines: []string{`"a,b"`}, want: list{strong("a,b")}},
		{rule: "8.8.3: only a comma", lines: []string{`",",W/",,"`}, want: list{strong(","), weak(",,")}},
		{rule: "8.8.3: W/ in a tag", lines: []string{`"W/a"`}, want: list{strong("W/a")}},
		{rule: "8.8.3: no escapes", lines: []string{`"a\", "b"`}, want: list{strong(`a\`), strong("b")}},
		{rule: "8.8.3: the first and last etagc", lines: []string{`"!#~"`}, want: list{strong("!#~")}},
		{rule: "8.8.3: obs-text", lines: []string{"\"\x80\xff\u00e9\""}, want: list{strong("\x80\xff\u00e9")}},
		{rule: "8.8.3: * in quotation marks is a tag", lines: []string{`"*", W/"*"`}, want: list{strong("*"), weak("*")}},
		{rule: "13.1.1: any", lines: []string{"*"}, any: true},
		{rule: "13.1.1: any, with space", lines: []string{" *\t", ""}, any: true},
		{rule: "13.1.1: an example", lines: []string{`"xyzzy", "r2d2xxxx", "c3piozzzz"`},
			want: list{strong("xyzzy"), strong("r2d2xxxx"), strong("c3piozzzz")}},
		{rule: "13.1.2: an example", lines: []string{`W/"xyzzy", W/"r2d2xxxx", W/"c3piozzzz"`},
			want: list{weak("xyzzy"), weak("r2d2xxxx"), weak("c3piozzzz")}},
		{rule: "5.6.1: no space", lines: []string{`"a","b"`}, want: list{strong("a"), strong("b")}},
		{rule: "5.6.1: tabs", lines: []string{"\t\"a\"\t,\tW/\"b\"\t"}, want: list{strong("a"), weak("b")}},
		{rule: "5.6.1: empty elements", lines: []string{`, "a",, ,"b",`}, want: list{strong("a"), strong("b")}},
		{rule: "5.3: several lines", lines: []string{`"a,1", "b"`, "", `W/"c"`},
			want: list{strong("a,1"), strong("b"), weak("c")}},
	} {
		got, err := httpapi.ReadEntityTags(lines("If-Match", c.lines...), "If-Match")
		require.NoError(t, err, "%s: %q", c.rule, c.lines)
		require.Equal(t, httpapi.EntityTags{Any: c.any, List: c.want}, got, "%s: %q", c.rule, c.lines)
	}
}

func TestReadEntityTags_refusesWhatIsMalformed(t *testing.T) {
	for _, values := range [][]string{
		{"a"}, {`"`}, {`"a`}, {`a"`}, {"W/"}, {"W/a"}, {`w/"a"`}, {`W/ "a"`}, {`W"a"`}, {`/"a"`}, {`'a'`},
		{`"a" "b"`}, {`"a""b"`}, {`"a"b`}, {`"a";"b"`}, {`"a", b`}, {`"a", "b`}, {`"a"W/"b"`}, {`W/W/"a"`},
		{`"a b"`}, {"\"a\tb\""}, {"\"a\x00\""}, {"\"a\x7f\""}, // section 8.8.3: no etagc
		{`*, "a"`}, {`"a", *`}, {"*,"}, {",*"}, {"**"}, {"*", "*"}, {"*", `"a"`}, {`"a"`, "*"}, {",", "*"}, {"*", ","},
		{","}, {" , ,"}, {"", ","},
		{`"a`, `b"`}, // a tag does not go on in the next line
	} {
		got, err := httpapi.ReadEntityTags(lines("If-None-Match", values...), "If-None-Match")
		var refusal *httpapi.Error
		require.True(t, errors.As(err, &refusal), "%q", values)
		require.Equal(t, http.StatusBadRequest, refusal.Status)
		require.Equal(t, "The 'If-None-Match' header is not a list of entity tags.", refusal.Text())
		require.Zero(t, got, "%q", values)
	}
}

// Section 8.8.3.2 has a table of two tags that each may be weak. The ETag of a
// representation is always strong here, which leaves two of its lines.
func TestEntityTags_compareStronglyAndWeakly(t *testing.T) {
	for _, c := range []struct {
		field, current string
		strong, weak   bool
	}{
		{`"1"`, "1", true, true},
		{`W/"1"`, "1", false, true},
		{`"2"`, "1", false, false},
		{`W/"2"`, "1", false, false},
		{`"2", W/"1"`, "1", false, true},
		{`W/"1", "1"`, "1", true, true},
		{`"1,2"`, "1", false, false},
		{`"1,2"`, "2", false, false},
		{`"1,2"`, "1,2", true, true},
		{`""`, "", true, true},
		{`"*"`, "*", false, false}, // this text stands for any
		{"", "1", false, false},
	} {
		tags, err := httpapi.ReadEntityTags(lines("If-Match", c.field), "If-Match")
		require.NoError(t, err, c.field)
		require.Equal(t, c.strong, slices.Contains(tags.Strong(), c.current), "%s strongly with %q", c.field, c.current)
		require.Equal(t, c.weak, slices.Contains(tags.Weak(), c.current), "%s weakly with %q", c.field, c.current)
		require.NotContains(t, append(tags.Strong(), tags.Weak()...), "*", c.field)
	}
	for _, texts := range [][]string{httpapi.EntityTags{Any: true}.Strong(), httpapi.EntityTags{Any: true}.Weak()} {
		require.Equal(t, []string{"*"}, texts)
	}
	list := httpapi.EntityTags{List: []httpapi.EntityTag{weak("a"), strong("a"), strong("*")}}
	require.Equal(t, []string{`W/"a"`, "a", `"*"`}, list.Strong())
	require.Equal(t, []string{"a", "a", `"*"`}, list.Weak())
}

// served is the status of [http.ServeContent] for content with an ETag.
func served(header http.Header, etag string) int {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header = header
	w := httptest.NewRecorder()
	w.Header().Set("ETag", etag)
	http.ServeContent(w, r, "", time.Unix(1e9, 0), strings.NewReader("content"))
	return w.Code
}

// The interfaces answer a GET with [http.ServeContent] and read the conditions of
// changes with ReadEntityTags: both have to mean the same.
func requireAsServed(t *testing.T, value, current string) {
	t.Helper()
	tags, err := httpapi.ReadEntityTags(lines("If-Match", value), "If-Match")
	if err != nil || strings.Trim(value, " \t") == "" {
		return // ServeContent ignores what is malformed
	}
	match, none := http.StatusPreconditionFailed, http.StatusOK
	if tags.Any || slices.Contains(tags.List, strong(current)) {
		match = http.StatusOK
	}
	if tags.Any || slices.Contains(tags.List, strong(current)) || slices.Contains(tags.List, weak(current)) {
		none = http.StatusNotModified
	}
	etag := strong(current).String()
	require.Equal(t, match, served(lines("If-Match", value), etag), "section 13.1.1: If-Match: %s, ETag: %s", value, etag)
	require.Equal(t, none, served(lines("If-None-Match", value), etag), "section 13.1.2: If-None-Match: %s, ETag: %s", value, etag)
}

func TestReadEntityTags_agreesWithServeContent(t *testing.T) {
	for _, value := range []string{"*", `"a"`, `W/"a"`, `"b", "a"`, `"b",W/"a"`, `"a,b"`, `,"b",,"a,b",`, `"*"`, `""`, `"b"`} {
		for _, current := range []string{"a", "b", "a,b", "*", ""} {
			requireAsServed(t, value, current)
		}
	}
}

// Sections 13.1.3 to 13.1.5 and 13.2.2 are those of [http.ServeContent]: dates count
// only without tags, and If-Range has one strong tag.
func TestEntityTags_leaveOtherConditionsToServeContent(t *testing.T) {
	then, before := time.Unix(1e9, 0).UTC().Format(http.TimeFormat), time.Unix(1e8, 0).UTC().Format(http.TimeFormat)
	for _, c := range []struct {
		rule   string
		header http.Header
		want   int
	}{
		{"13.1.3", http.Header{"If-Modified-Since": {then}}, 304},
		{"13.1.3", http.Header{"If-Modified-Since": {before}}, 200},
		{"13.1.3: after If-None-Match", http.Header{"If-Modified-Since": {then}, "If-None-Match": {`"b"`}}, 200},
		{"13.1.4", http.Header{"If-Unmodified-Since": {before}}, 412},
		{"13.1.4", http.Header{"If-Unmodified-Since": {then}}, 200},
		{"13.1.4: after If-Match", http.Header{"If-Unmodified-Since": {before}, "If-Match": {`"a,b"`}}, 200},
		{"13.1.5", http.Header{"If-Range": {`"a,b"`}, "Range": {"bytes=1-2"}}, 206},
		{"13.1.5", http.Header{"If-Range": {`"b"`}, "Range": {"bytes=1-2"}}, 200},
		{"13.1.5: weak", http.Header{"If-Range": {`W/"a,b"`}, "Range": {"bytes=1-2"}}, 200},
		{"13.1.5: a date", http.Header{"If-Range": {then}, "Range": {"bytes=1-2"}}, 206},
		{"13.1.5: a date", http.Header{"If-Range": {before}, "Range": {"bytes=1-2"}}, 200},
		{"13.1.5: without Range", http.Header{"If-Range": {`"b"`}}, 200},
	} {
		require.Equal(t, c.want, served(c.header, `"a,b"`), "section %s: %v", c.rule, c.header)
	}
}

func FuzzReadEntityTags(f *testing.F) {
	f.Add(`"a", W/"b,c"`, "a", "*")
	f.Add(`,"a,b",,`, "a,b", `"c"`)
	f.Add(`"`, "", "")
	f.Add("*", "*", ",")
	f.Fuzz(func(t *testing.T, first, current, second string) {
		one, err := httpapi.ReadEntityTags(lines("If-Match", first), "If-Match")
		if err != nil {
			require.Zero(t, one)
			_, err = httpapi.ReadEntityTags(lines("If-Match", first, second), "If-Match")
			if strings.Trim(first, " \t,") != "" {
				require.Error(t, err, "a second line mends no first one")
			}
			return
		}
		var written []string
		for _, tag := range one.List {
			require.NotContains(t, tag.Value, `"`)
			written = append(written, tag.String())
		}
		again, err := httpapi.ReadEntityTags(lines("If-Match", strings.Join(written, ",")), "If-Match")
		require.NoError(t, err)
		require.Equal(t, one.List, again.List, "what is written is read again")
		apart, err := httpapi.ReadEntityTags(lines("If-Match", written...), "If-Match")
		require.NoError(t, err)
		require.Equal(t, one.List, apart.List, "lines are one list")
		if both, err := httpapi.ReadEntityTags(lines("If-Match", first, second), "If-Match"); err == nil {
			two, err := httpapi.ReadEntityTags(lines("If-Match", second), "If-Match")
			if err == nil {
				require.Equal(t, append(slices.Clip(one.List), two.List...), both.List)
				require.Equal(t, one.Any || two.Any, both.Any)
			}
		}
		if tag, err := httpapi.ReadEntityTags(lines("If-Match", strong(current).String()), "If-Match"); err == nil &&
			slices.Equal(tag.List, []httpapi.EntityTag{strong(current)}) {
			requireAsServed(t, first, current)
		}
	})
}
