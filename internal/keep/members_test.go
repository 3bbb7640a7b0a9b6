package keep_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/keep"
)

type base struct {
	ID string `json:"id" keep:"key"`
}

type item struct {
	base
	Title string `json:"title,omitempty"`
}

type pair struct{ A, B int }

type own struct{ text string }

func (o own) MarshalJSON() ([]byte, error) { return json.Marshal(o.text) }

func (o *own) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &o.text) }

type document struct {
	Name    string           `json:"name,omitempty"`
	Size    *int             `json:"size,omitempty"`
	Made    time.Time        `json:"made,omitzero"`
	Below   *document        `json:"below,omitempty"`
	Item    *item            `json:"item,omitempty"`
	Items   []item           `json:"items,omitempty"`
	Pairs   []pair           `json:"pairs,omitempty"`
	ByName  map[string]*item `json:"byName,omitempty"`
	Texts   map[string]any   `json:"texts,omitempty"`
	Raw     json.RawMessage  `json:"raw,omitempty"`
	Own     *own             `json:"own,omitempty"`
	Ignored string           `json:"-"`
}

func TestMembers_Marshal(t *testing.T) {
	for _, test := range []struct {
		name, stored string
		change       func(*document)
		want         string
	}{
		{"nothing is unknown", `{"name":"a"}`, func(d *document) { d.Name = "b" }, `{"name":"b"}`},
		{"a member stays", `{"name":"a","new":{"x":[1,2.50,"\u00e9"]}}`, func(d *document) { d.Name = "b" },
			`{"name":"b","new":{"x":[1,2.50,"é"]}}`},
		{"a number keeps its digits", `{"new":12345678901234567890.10}`, nil, `{"new":12345678901234567890.10}`},
		{"a known member is removed", `{"name":"a","size":3,"new":1}`, func(d *document) { d.Size = nil }, `{"name":"a","new":1}`},
		{"null is kept", `{"new":null}`, nil, `{"new":null}`},
		{"a member with escapes", `{"n\u0065w \"x\"":1,"n\u0061me":"a"}`, nil, `{"name":"a","new \"x\"":1}`},
		{"the case of letters does not count", `{"NAME":"a","New":1}`, nil, `{"name":"a","New":1}`},
		{"a field that is not stored is unknown", `{"Ignored":"x","hidden":1}`, nil, `{"Ignored":"x","hidden":1}`},
		{"of two members the last one counts", `{"new":1,"new":2}`, nil, `{"new":2}`},
		{"in an object", `{"below":{"name":"a","new":{}}}`, func(d *document) { d.Below.Name = "" }, `{"below":{"new":{}}}`},
		{"in an object that is removed", `{"below":{"new":1},"new":2}`, func(d *document) { d.Below = nil }, `{"new":2}`},
		{"two objects down", `{"below":{"below":{"new":1}}}`, nil, `{"below":{"below":{"new":1}}}`},
		{"in an object with a key", `{"item":{"id":"1","new":1}}`, func(d *document) { d.Item.Title = "x" },
			`{"item":{"id":"1","title":"x","new":1}}`},
		{"in an object that another one replaces", `{"item":{"id":"1","new":1}}`, func(d *document) { d.Item = &item{base{"2"}, ""} },
			`{"item":{"id":"2"}}`},
		{"in the values of a map", `{"byName":{"a":{"id":"1","new":1},"b":{"id":"2","new":2}}}`,
			func(d *document) { delete(d.ByName, "a"); d.ByName["c"] = &item{} },
			`{"byName":{"b":{"id":"2","new":2},"c":{"id":""}}}`},
		{"in elements with a key, which change and move",
			`{"items":[{"id":"1","new":1},{"id":"2"},{"id":"3","title":"x","new":3}]}`,
			func(d *document) {
				d.Items[2].Title = "y"
				d.Items = []item{d.Items[2], {base{"4"}, "z"}, d.Items[0]}
			},
			`{"items":[{"id":"3","title":"y","new":3},{"id":"4","title":"z"},{"id":"1","new":1}]}`},
		{"in an element that is replaced", `{"items":[{"id":"1","new":1}]}`,
			func(d *document) { d.Items[0].ID = "2" }, `{"items":[{"id":"2"}]}`},
		{"in elements without a key, which move", `{"pairs":[{"A":1,"B":2,"new":1},{"A":3,"B":4,"new":3}]}`,
			func(d *document) { d.Pairs = []pair{{5, 6}, d.Pairs[1], d.Pairs[0]} },
			`{"pairs":[{"A":5,"B":6},{"A":3,"B":4,"new":3},{"A":1,"B":2,"new":1}]}`},
		{"in an element without a key, which changes", `{"pairs":[{"A":1,"B":2,"new":1},{"A":3,"B":4,"new":3}]}`,
			func(d *document) { d.Pairs[0].A = 9 }, `{"pairs":[{"A":9,"B":2},{"A":3,"B":4,"new":3}]}`},
		{"in equal elements", `{"pairs":[{"A":1,"B":2},{"A":1,"B":2,"new":1},{"A":1,"B":2,"new":2}]}`,
			func(d *document) { d.Pairs = d.Pairs[1:] }, `{"pairs":[{"A":1,"B":2,"new":1},{"A":1,"B":2,"new":2}]}`},
		{"values of any type are known", `{"texts":{"a":{"b":1}},"raw":{"b":2}}`,
			func(d *document) { d.Texts, d.Raw = nil, nil }, `{}`},
		{"a form of its own is known", `{"own":"x","made":"2026-01-02T03:04:05Z","new":1}`,
			func(d *document) { d.Own.text = "y" }, `{"made":"2026-01-02T03:04:05Z","own":"y","new":1}`},
		{"null in place of an object", `{"below":null,"items":null,"byName":null,"new":1}`, nil, `{"new":1}`},
		{"spaces", " {\n\t\"items\" : [ { \"id\" : \"1\" , \"new\" : [ 1 , 2 ] } ] , \"new\" : \"a \\\\\" } ", nil,
			`{"items":[{"id":"1","new":[ 1 , 2 ]}],"new":"a \\"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var d document
			unknown, err := keep.Unmarshal([]byte(test.stored), &d)
			require.NoError(t, err)
			if test.change != nil {
				test.change(&d)
			}
			data, kept, err := unknown.MarshalKept(d)
			require.NoError(t, err)
			require.JSONEq(t, test.want, string(data))
			require.Equal(t, keep.Find(data, d).IsZero(), kept.IsZero())
			again, err := kept.Marshal(d)
			require.NoError(t, err)
			require.Equal(t, string(data), string(again))
		})
	}
}

func TestMembers_MarshalKept_forgetsWhatWasRemoved(t *testing.T) {
	d := document{}
	unknown, err := keep.Unmarshal([]byte(`{"items":[{"id":"1","new":1}],"below":{"new":2},"new":3}`), &d)
	require.NoError(t, err)
	removed := d
	removed.Items, removed.Below = nil, nil
	_, kept, err := unknown.MarshalKept(removed)
	require.NoError(t, err)
	data, err := kept.Marshal(d)
	require.NoError(t, err)
	require.JSONEq(t, `{"items":[{"id":"1"}],"below":{},"new":3}`, string(data))
}

func TestUnmarshal_returnsTheErrorOfJSON(t *testing.T) {
	var d document
	for _, text := range []string{"", "{", `{"name":1}`, `[]`} {
		unknown, err := keep.Unmarshal([]byte(text), &d)
		require.Error(t, err, "%q", text)
		require.True(t, unknown.IsZero())
	}
}

func TestUnmarshal_doesNotReferToTheText(t *testing.T) {
	text := []byte(`{"new":"value"}`)
	var d document
	unknown, err := keep.Unmarshal(text, &d)
	require.NoError(t, err)
	copy(text, strings.Repeat("x", len(text)))
	data, err := unknown.Marshal(d)
	require.NoError(t, err)
	require.Equal(t, `{"new":"value"}`, string(data))
}

func TestFind_readsTheFieldsOfATypeWithAForm(t *testing.T) {
	unknown := keep.Find([]byte(`{"text":1}`), own{})
	require.False(t, unknown.IsZero(), "text is not exported")
	require.True(t, keep.Find([]byte(`{}`), own{}).IsZero())
	require.True(t, keep.Find([]byte(`{"a":1}`), nil).IsZero())
	require.True(t, keep.Find([]byte(`{"a":1}`), map[string]any{}).IsZero())
}

func TestMembers_Put(t *testing.T) {
	inner := keep.Find([]byte(`{"id":"1","new":1}`), item{})
	unknown := keep.Find([]byte(`{"new":2}`), document{}).Put(inner, "texts", "a")
	value := document{Texts: map[string]any{"a": map[string]string{"id": "1"}}}
	data, err := unknown.Marshal(value)
	require.NoError(t, err)
	require.JSONEq(t, `{"texts":{"a":{"id":"1","new":1}},"new":2}`, string(data))
	require.Equal(t, inner, unknown.At("texts", "a"))
	require.True(t, unknown.At("texts", "b", "c").IsZero())
	require.Equal(t, keep.Find([]byte(`{"new":2}`), document{}), unknown.Put(keep.Members{}, "texts", "a").Top())
	require.True(t, keep.Members{}.Put(keep.Members{}, "texts").IsZero())
	require.True(t, keep.Members{}.Put(inner, "texts").Top().IsZero())
}

func FuzzFind(f *testing.F) {
	for _, text := range []string{
		`{"name":"a","new":1}`, `{"items":[{"id":"1","new":"\\\""}],"pairs":[{"A":1,"n":[]}]}`,
		`{"":{}}`, `{"byName":{"x":{"y":1}}}`, `[`, `{"a`, `{"a":`, `"\`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var d document
		unknown, err := keep.Unmarshal(text, &d)
		if err != nil {
			keep.Find(text, d) // must not panic
			return
		}
		data, err := unknown.Marshal(d)
		require.NoError(t, err)
		require.True(t, json.Valid(data), "%s", data)
		var again document
		unknownAgain, err := keep.Unmarshal(data, &again)
		require.NoError(t, err)
		dataAgain, err := unknownAgain.Marshal(again)
		require.NoError(t, err)
		require.JSONEq(t, string(data), string(dataAgain), "what is kept stays")
	})
}

func BenchmarkUnmarshal(b *testing.B) {
	d := document{Texts: map[string]any{}}
	for range 20_000 {
		d.Items = append(d.Items, item{base{strings.Repeat("i", 36)}, strings.Repeat("title ", 20)})
	}
	text, err := json.Marshal(d)
	require.NoError(b, err)
	for name, unmarshal := range map[string]func() error{
		"json": func() error { return json.Unmarshal(text, new(document)) },
		"keep": func() error {
			unknown, err := keep.Unmarshal(text, new(document))
			require.True(b, unknown.IsZero())
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				require.NoError(b, unmarshal())
			}
		})
	}
}

func BenchmarkUnmarshal_smallDocument(b *testing.B) {
	text := []byte(`{"name":"a","below":{"name":"b"},"items":[{"id":"1","title":"one"}],"byName":{"a":{"id":"1"}}}`)
	of := keep.TypeFor[document]()
	for name, unmarshal := range map[string]func() error{
		"json": func() error { return json.Unmarshal(text, new(document)) },
		"keep": func() error {
			_, err := keep.Unmarshal(text, new(document))
			return err
		},
		"keep with a Type": func() error {
			_, err := of.Unmarshal(text, new(document))
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				require.NoError(b, unmarshal())
			}
		})
	}
}
