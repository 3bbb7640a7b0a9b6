package rest_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/internal/apitest"
	"github.com/iotenablers/enablers/apimgmt/rest"
	"github.com/iotenablers/enablers/storage"
)

// No body and no header field of an upload does anything but be refused or published.
func FuzzUpload(f *testing.F) {
	const head = "--b\r\nContent-Disposition: form-data; name=\"upload_file\"; filename=\"f\"\r\n\r\n"
	f.Add("multipart/form-data; boundary=b", head+apitest.File("1", "/x")+"\r\n--b--\r\n", `"1"`)
	f.Add("multipart/form-data; boundary=b", head+"nonsense", "*")
	f.Add("multipart/form-data; boundary=b", "--b\r\n\r\n\r\n"+head+"\r\n--b--", "")
	f.Add("multipart/form-data", "", "W/\"1\"")
	f.Fuzz(func(t *testing.T, contentType, body, match string) {
		p, err := apimgmt.NewPublisher(apimgmt.Config{Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs(),
			Gateway: apimgmt.NewMemoryGateway([]string{"oidc", "deprecation"}), GatewayURL: "http://gateway.example"})
		require.NoError(t, err)
		w := httptest.NewRecorder()
		req := httptest.NewRequest(http.MethodPost, "/OpenAPIDocumentation/?enabler=a&description=", strings.NewReader(body))
		req.Header["Authorization"] = []string{"Bearer dev"}
		req.Header["Content-Type"] = []string{contentType}
		req.Header["If-Match"] = []string{match}
		rest.NewHandler(p, &rest.HandlerOptions{Verifier: apitest.Tokens()}).ServeHTTP(w, req)
		require.Contains(t, []int{200, 400, 404, 412, 413, 422}, w.Code, w.Body)
	})
}
