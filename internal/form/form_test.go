package form_test

import (
	"encoding/json"
	"html/template"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/form"
)

func fields() form.Fields {
	return form.Fields{
		{Name: "name", Label: "Name", Required: true},
		{Name: "rate", Path: "limits.rate", Kind: form.Number, Whole: true, Low: "1", High: "9"},
		{Name: "on", Kind: form.Check},
		{Name: "protocol", Kind: form.Choice, Options: form.Options("http", "https")},
		{Name: "tags", Kind: form.Words},
		{Name: "more", Kind: form.Group, Fields: form.Fields{
			{Name: "key", Kind: form.Secret, Mask: "***"},
			{Name: "value", Kind: form.Scalar, Sparse: true, Default: 2.0},
			{Name: "headers", Kind: form.Lists, Sparse: true},
		}},
	}
}

func object(t *testing.T, text string) map[string]any {
	t.Helper()
	var values map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &values))
	return values
}

const stored = `{"name": "n", "limits": {"rate": 3, "burst": 4}, "on": true, "protocol": "http", "tags": ["a", "b"], "key": "***",
	"headers": {"X": ["1", "2"]}}`

// sent is what a browser sends of fields as they are.
func sent(fields form.Fields) url.Values {
	values := url.Values{}
	fields.Each(func(f *form.Field) { values.Set(f.Name, f.Value) })
	return values
}

func TestFields_Read_changesNothingThatIsSentAsShown(t *testing.T) {
	f, values := fields(), object(t, stored)
	f.Show(values)
	require.True(t, f.Find("key").Stored)
	require.Empty(t, f.Find("key").Value)
	require.Equal(t, "2", f.Find("value").Value)
	require.Equal(t, "X: 1\nX: 2", f.Find("headers").Value)
	require.True(t, f.Read(sent(f), values))
	require.Equal(t, object(t, stored), values)
}

func TestFields_Read_putsValuesAndRemovesSparseOnes(t *testing.T) {
	f, values := fields(), object(t, stored)
	f.Show(values)
	require.True(t, f.Read(url.Values{"name": {" m "}, "rate": {"9"}, "protocol": {"https"}, "tags": {"c, d e"}, "key": {"new"},
		"value": {"true"}}, values))
	data, err := json.Marshal(values)
	require.NoError(t, err)
	require.JSONEq(t, `{"name": "m", "limits": {"rate": 9, "burst": 4}, "on": false, "protocol": "https", "tags": ["c", "d", "e"],
		"key": "new", "value": true}`, string(data))
}

func TestFields_Read_showsFaultsAndNoSecret(t *testing.T) {
	f := fields()
	require.False(t, f.Read(url.Values{"rate": {"10"}, "protocol": {"<ftp>"}, "key": {"hush"}, "headers": {"X"}}, map[string]any{}))
	f.Forget()
	page := render(t, f)
	for name, fault := range map[string]string{"name": "is required", "rate": "10 is not between 1 and 9",
		"protocol": "&#34;&lt;ftp&gt;&#34; is not one of the choices", "headers": "&#34;X&#34; is not of the form NAME: TEXT"} {
		require.Contains(t, page, `<span class="fault" id="fault-`+name+`">`+fault+"</span>")
		require.Regexp(t, `id="`+name+`"[^>]* aria-invalid="true" aria-describedby="fault-`+name+` hint-`+name+`"`, page)
	}
	require.Contains(t, page, `value="10"`)
	require.Contains(t, page, `placeholder="not kept; enter it again"`)
	require.NotContains(t, page, "hush")
}

func TestFields_Blame_reportsFaultsWithoutAField(t *testing.T) {
	f := fields()
	require.False(t, f.Blame(map[string]any{"limits": map[string]any{"rate": "is too high"}}))
	require.Equal(t, "is too high", f.Find("rate").Fault)
	require.False(t, f.Blame(map[string]any{"headers": map[string]any{"X": "is unknown"}, "name": "is taken"}))
	require.Equal(t, "X is unknown", f.Find("headers").Fault)
	require.True(t, f.Blame(map[string]any{"limits": map[string]any{"rate": "is too high", "burst": "is missing"}}))
	require.True(t, f.Blame(map[string]any{"other": "is unknown"}))
}

func render(t *testing.T, f form.Fields) string {
	t.Helper()
	var page strings.Builder
	templates, err := template.ParseFS(form.Files, "field.html")
	require.NoError(t, err)
	require.NoError(t, templates.ExecuteTemplate(&page, "fields", f))
	return page.String()
}
