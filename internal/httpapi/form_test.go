package httpapi_test

import (
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/httpapi"
)

// newFormBody returns a form of fields, each with a name and a content, and its header fields.
func newFormBody(t *testing.T, fields ...[2]string) (http.Header, string) {
	t.Helper()
	var body strings.Builder
	form := multipart.NewWriter(&body)
	for _, field := range fields {
		part, err := form.CreateFormFile(field[0], field[0]+".txt")
		require.NoError(t, err)
		_, err = io.WriteString(part, field[1])
		require.NoError(t, err)
	}
	require.NoError(t, form.Close())
	return http.Header{"Content-Type": {form.FormDataContentType()}}, body.String()
}

func TestForm_Next_returnsTheFieldsOfTheNames(t *testing.T) {
	header, body := newFormBody(t, [2]string{"skipped", "x"}, [2]string{"file", "one"}, [2]string{"other", "y"}, [2]string{"file", "two"})
	for _, c := range []struct{ names, want []string }{
		{[]string{"file"}, []string{"one", "two"}},
		{[]string{"other", "file"}, []string{"one", "y", "two"}},
		{nil, []string{"x", "one", "y", "two"}},
		{[]string{"none"}, nil},
	} {
		form, err := httpapi.NewForm(header, strings.NewReader(body))
		require.NoError(t, err)
		var got []string
		for {
			field, err := form.Next(c.names...)
			if err == io.EOF {
				break
			}
			require.NoError(t, err)
			data, err := httpapi.ReadField(field, 3)
			require.NoError(t, err)
			got = append(got, string(data))
		}
		require.Equal(t, c.want, got)
	}
}

func TestForm_Next_skipsWhatIsNotRead(t *testing.T) {
	header, body := newFormBody(t, [2]string{"file", strings.Repeat("x", 1<<20)}, [2]string{"file", "two"})
	form, err := httpapi.NewForm(header, strings.NewReader(body))
	require.NoError(t, err)
	_, err = form.Next("file")
	require.NoError(t, err)
	second, err := form.Next("file")
	require.NoError(t, err)
	data, err := io.ReadAll(second)
	require.NoError(t, err)
	require.Equal(t, "two", string(data))
}

func TestForm_NextDecoded_decodesQuotedPrintable(t *testing.T) {
	const body = "--b\r\nContent-Disposition: form-data; name=other\r\n\r\nx\r\n" +
		"--b\r\nContent-Disposition: form-data; name=file\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\na=3Db\r\n--b--\r\n"
	header := http.Header{"Content-Type": {"multipart/form-data; boundary=b"}}
	for want, next := range map[string]func(*httpapi.Form, ...string) (*multipart.Part, error){
		"a=b": (*httpapi.Form).NextDecoded, "a=3Db": (*httpapi.Form).Next,
	} {
		form, err := httpapi.NewForm(header, strings.NewReader(body))
		require.NoError(t, err)
		field, err := next(form, "file")
		require.NoError(t, err)
		data, err := httpapi.ReadField(field, 10)
		require.NoError(t, err)
		require.Equal(t, want, string(data))
		_, err = next(form, "file")
		require.Equal(t, io.EOF, err)
	}
}

func TestForm_Next_refusesABodyThatBreaksOff(t *testing.T) {
	header, body := newFormBody(t, [2]string{"file", "content"})
	for cut := range len(body) - 3 { // the line feed after the last boundary may be missing
		form, err := httpapi.NewForm(header, strings.NewReader(body[:cut]))
		require.NoError(t, err)
		for err == nil {
			_, err = form.Next("file")
		}
		require.False(t, err == io.EOF, "cut off after %d bytes", cut)
	}
}

func TestForm_Next_acceptsTheEndsOfBodies(t *testing.T) {
	for _, lines := range []string{"\r\n", "\n"} {
		for _, end := range []string{"", " \t ", lines, lines + "epilogue", lines + "epilogue" + lines} {
			body := strings.ReplaceAll("--b\nContent-Disposition: form-data; name=file\n\ntext\n--b--", "\n", lines) + end
			header := http.Header{"Content-Type": {"multipart/form-data; boundary=b"}}
			form, err := httpapi.NewForm(header, iotest.OneByteReader(strings.NewReader(body)))
			require.NoError(t, err)
			field, err := form.Next()
			require.NoError(t, err)
			data, err := httpapi.ReadField(field, 4)
			require.NoError(t, err)
			require.Equal(t, "text", string(data))
			_, err = form.Next()
			require.Equal(t, io.EOF, err, "%q", body)
		}
	}
	form, err := httpapi.NewForm(http.Header{"Content-Type": {"multipart/form-data; boundary=b"}}, strings.NewReader("--b--"))
	require.NoError(t, err)
	_, err = form.Next()
	require.Equal(t, io.EOF, err)
}

func TestForm_Next_passesOnThatABodyIsTooLarge(t *testing.T) {
	header, body := newFormBody(t, [2]string{"file", strings.Repeat("x", 1000)})
	limited := http.MaxBytesReader(httptest.NewRecorder(), io.NopCloser(strings.NewReader(body)), 500)
	form, err := httpapi.NewForm(header, limited)
	require.NoError(t, err)
	field, err := form.Next("file")
	var tooLarge *http.MaxBytesError
	if err == nil {
		_, err = httpapi.ReadField(field, 1000)
	}
	require.True(t, errors.As(err, &tooLarge), "%v", err)
}

func TestNewForm_refusesOtherContentTypes(t *testing.T) {
	for contentType, want := range map[string]error{
		"":                                   httpapi.ErrNoForm,
		"text/plain":                         httpapi.ErrNoForm,
		"multipart/mixed; boundary=x":        httpapi.ErrNoForm,
		"multipart/form-data; boundary":      httpapi.ErrNoForm,
		"multipart/form-data":                httpapi.ErrNoBoundary,
		"multipart/form-data; boundary=\"\"": httpapi.ErrNoBoundary,
	} {
		_, err := httpapi.NewForm(http.Header{"Content-Type": {contentType}}, strings.NewReader(""))
		require.Equal(t, want, err, contentType)
		require.ErrorIs(t, err, httpapi.ErrNoForm, contentType)
	}
}

func TestReadField_readsAllOfWhatIsTooLarge(t *testing.T) {
	field := strings.NewReader("12345")
	_, err := httpapi.ReadField(field, 3)
	require.ErrorIs(t, err, httpapi.ErrFieldSize)
	require.Zero(t, field.Len())
	data, err := httpapi.ReadField(strings.NewReader("123"), 3)
	require.NoError(t, err)
	require.Equal(t, "123", string(data))
	broken := errors.New("broken")
	_, err = httpapi.ReadField(io.MultiReader(strings.NewReader("12345"), failing{broken}), 3)
	require.ErrorIs(t, err, broken)
	require.ErrorIs(t, err, httpapi.ErrFieldSize)
	_, err = httpapi.ReadField(io.MultiReader(strings.NewReader("1"), failing{broken}), 3)
	require.Equal(t, broken, err)
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
