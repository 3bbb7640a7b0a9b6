package admin

import (
	"encoding/json"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
)

func TestDecodeForm_convertsByTheTypesOfFields(t *testing.T) {
	for form, want := range map[string]string{
		"name=5&retries=5&enabled=true":         `{"name":"5","retries":5,"enabled":true}`,
		"tags=a":                                `{"tags":["a"]}`,
		"tags=a&tags=b":                         `{"tags":["a","b"]}`,
		"tags[]=a&tags[]=b":                     `{"tags":["a","b"]}`,
		"tags[2]=b&tags[1]=a":                   `{"tags":["a","b"]}`,
		"path=":                                 `{"path":null}`,
		"retries=many":                          `{"retries":"many"}`,
		"colour=1":                              `{"colour":"1"}`,
		"tls_verify=false&connect_timeout=1000": `{"tls_verify":false,"connect_timeout":1000}`,
		"":                                      `{}`,
		"name=a%20b%26":                         `{"name":"a b&"}`,
	} {
		fields, err := urlFields(form)
		require.NoError(t, err)
		got, err := decodeForm(fields, reflect.TypeFor[*entity.Service]())
		require.NoError(t, err, form)
		require.JSONEq(t, want, string(got), form)
	}
	fields, err := urlFields(
		"name=x&config.minute=5&config.fault_tolerant=false&config.add.headers[]=a:1&config.add.headers[]=2" +
			"&config.policy=local&service.id=7&config[hide]=true")
	require.NoError(t, err)
	got, err := decodeForm(fields, reflect.TypeFor[*entity.Plugin]())
	require.NoError(t, err)
	require.JSONEq(t,
		`{"name":"x","service":{"id":"7"},"config":{"minute":5,"fault_tolerant":false,"policy":"local","hide":true,`+
			`"add":{"headers":["a:1",2]}}}`, string(got))
}

func TestDecodeForm_refusesContradictions(t *testing.T) {
	for _, form := range []string{"a=1&a.b=2", "a.b=1&a=2", "a[]=1&a.b=2", "a.b=1&a[]=2", "a[=1", "=1", "a..b=1", "a[5000]=1", "a[-1]=1",
		strings.Repeat("a.", 20) + "a=1"} {
		fields, err := urlFields(form)
		require.NoError(t, err)
		_, err = decodeForm(fields, reflect.TypeFor[*entity.Plugin]())
		require.Error(t, err, form)
	}
	_, err := urlFields("a=%zz")
	require.Error(t, err)
	_, err = urlFields(strings.Repeat("a=1&", formFields+1))
	require.Error(t, err)
}

func FuzzForm(f *testing.F) {
	for _, seed := range []string{"name=a&tags[]=b", "config.a[1].b=1", "a[b][c]=d", "a=1&a=2&a[]=3", "=", "a[]=&a[0]=", "%zz"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, form string) {
		fields, err := urlFields(form)
		if err != nil {
			return
		}
		for _, of := range []reflect.Type{reflect.TypeFor[*entity.Plugin](), reflect.TypeFor[*entity.Route](),
			reflect.TypeFor[*entity.Upstream]()} {
			data, err := decodeForm(fields, of)
			if err != nil {
				continue
			}
			require.True(t, json.Valid(data), "%s", data)
			again, err := decodeForm(fields, of)
			require.NoError(t, err)
			require.Equal(t, data, again)
			made := row{reflect.New(of.Elem()).Interface()}
			if decodeEntity(data, made) == nil {
				_, err := json.Marshal(made)
				require.NoError(t, err)
			}
		}
	})
}

func FuzzRequestBody(f *testing.F) {
	var form strings.Builder
	writer := multipart.NewWriter(&form)
	_ = writer.SetBoundary("x")
	_ = writer.WriteField("name", "a")
	_ = writer.Close()
	f.Add("application/json", `{"name":"a"}`)
	f.Add("multipart/form-data; boundary=x", form.String())
	f.Add("application/x-www-form-urlencoded", "name=a")
	f.Add("text/yaml", "_format_version: '3.0'")
	f.Fuzz(func(t *testing.T, media, body string) {
		request := func() *http.Request {
			r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
			r.Header.Set("Content-Type", media)
			return r
		}
		if data, err := readBody(request(), reflect.TypeFor[*entity.Service]()); err == nil {
			_ = decodeEntity(data, row{new(entity.Service)})
		}
		if text, err := readDeclaration(request()); err == nil {
			_, _ = entity.Read(text, entity.Limits{})
		}
	})
}
