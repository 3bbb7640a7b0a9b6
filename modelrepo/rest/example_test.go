package rest_test

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/rest"
	"github.com/iotenablers/enablers/storage"
)

func ExampleNewHandler() {
	repository, err := modelrepo.New(modelrepo.Config{
		Documents: storage.NewMemoryDocuments(),
		Blobs:     storage.NewMemoryBlobs(),
	})
	if err != nil {
		log.Fatal(err)
	}
	server := httptest.NewServer(rest.NewHandler(repository, nil))
	defer server.Close()

	answer, err := http.Post(server.URL+"/w3c", "", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(body))
	// Output: {"message":"Created namespace 'w3c'."}
}

// token is what callers of the example have to know; a program has a longer one, and not
// in its source.
const token = "correct horse battery staple"

// errNoToken refuses a caller without credentials.
type errNoToken struct{}

func (errNoToken) Error() string   { return "a token is required" }
func (errNoToken) HTTPStatus() int { return http.StatusUnauthorized }

// A program decides itself who may do what. Here every caller may read, and callers with
// a token may change models; webhooks, which are for admins, are for no caller.
func ExampleNewHandler_authorize() {
	authorize := func(r *http.Request, role string) error {
		given, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		known := subtle.ConstantTimeCompare([]byte(given), []byte(token)) == 1
		switch {
		case role == "reader", role == "operator" && known:
			return nil
		case known:
			return errors.New("the role " + role + " is required")
		}
		return errNoToken{}
	}
	repository, err := modelrepo.New(modelrepo.Config{
		Documents: storage.NewMemoryDocuments(),
		Blobs:     storage.NewMemoryBlobs(),
	})
	if err != nil {
		log.Fatal(err)
	}
	server := httptest.NewServer(rest.NewHandler(repository, &rest.HandlerOptions{Authorize: authorize}))
	defer server.Close()

	for _, call := range []struct{ method, path, authorization string }{
		{"POST", "/w3c", ""},
		{"POST", "/w3c", "Bearer " + token},
		{"GET", "/w3c", ""},
		{"GET", "/h", "Bearer " + token},
	} {
		request, err := http.NewRequest(call.method, server.URL+call.path, nil)
		if err != nil {
			log.Fatal(err)
		}
		request.Header.Set("Authorization", call.authorization)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			log.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			log.Fatal(err)
		}
		_ = answer.Body.Close() // it was only read
		fmt.Println(call.method, call.path, answer.StatusCode, string(body))
	}
	// Output:
	// POST /w3c 401 {"error":"a token is required"}
	// POST /w3c 200 {"message":"Created namespace 'w3c'."}
	// GET /w3c 200 {"name":"w3c"}
	// GET /h 403 {"error":"the role admin is required"}
}
