package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/iotenablers/enablers/internal/httpclient"
	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/internal/wire"
)

// call is one request.
type call struct {
	op     string
	at     modelrepo.Path
	method string
	before string // of the path, before the place
	more   string // of the path, behind the place
	query  url.Values
	header http.Header
	body   io.Reader
}

// send sends a request and returns a successful answer. The caller closes the body.
func (c *Client) send(ctx context.Context, k call) (*http.Response, error) {
	if err := k.check(); err != nil {
		return nil, err
	}
	target := c.base.JoinPath(k.before).JoinPath(segments(k.at)...)
	if k.more != "" {
		target = target.JoinPath(k.more)
	}
	target.RawQuery = k.query.Encode()
	request, err := http.NewRequestWithContext(ctx, k.method, target.String(), k.body)
	if err != nil {
		return nil, failed(k.op, k.at, err)
	}
	for name, values := range k.header {
		request.Header[name] = values
	}
	httpclient.Authorize(request, c.token)
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, failed(k.op, k.at, err)
	}
	if answer.StatusCode < 300 {
		return answer, nil
	}
	defer func() { _ = answer.Body.Close() }()
	return nil, refusal(k, answer)
}

// check refuses a path whose URL would mean something else, with the error that a Store
// returns.
func (k call) check() error {
	dots := func(name string) bool { return name == "." || name == ".." }
	_, namespace := modelrepo.ParsePath(k.at.Namespace)
	switch {
	case k.at == (modelrepo.Path{}) || (namespace == nil && !dots(k.at.Model) && !dots(k.at.Version)):
		return nil
	case k.method == http.MethodPost:
		return refuse(k.op, k.at, modelrepo.ErrInvalid, "Invalid namespace, model name, or version.")
	}
	return notFound(k.op, k.at)
}

// segments returns the parts of the path, each escaped as one segment.
func segments(at modelrepo.Path) []string {
	all := []string{url.PathEscape(at.Namespace), url.PathEscape(at.Model), url.PathEscape(at.Version)}
	return all[:depth(at)]
}

// refusal returns the error of an answer.
func refusal(k call, answer *http.Response) error {
	var body struct {
		Error string `json:"error"`
	}
	data, _ := io.ReadAll(io.LimitReader(answer.Body, wire.MaxBody)) // a part of it is enough
	if json.Unmarshal(data, &body) != nil || body.Error == "" {
		body.Error = answer.Status
	}
	code := answer.Header.Get(wire.ErrorCode)
	for _, v := range wire.Codes() {
		// Without a code, as after HEAD through a proxy, the status decides, if it means one thing.
		if v.Name == code || code == "" && v.Status == answer.StatusCode && v.Status != http.StatusBadRequest &&
			v.Status != http.StatusInternalServerError {
			return &modelrepo.Error{Op: k.op, Path: k.at.String(), Text: body.Error, Err: v.Err}
		}
	}
	return fmt.Errorf("%s %q: the server answered %s: %s", k.op, k.at, answer.Status, body.Error)
}

// maxAnswer is the most that is read of an answer that is not content, in bytes.
const maxAnswer = 64 << 20

// decode reads the JSON of an answer.
func decode(answer *http.Response, document any) error {
	body := &io.LimitedReader{R: answer.Body, N: maxAnswer}
	err := json.NewDecoder(body).Decode(document)
	switch {
	case err != nil && body.N == 0:
		return fmt.Errorf("read the answer: it has more than %d bytes", maxAnswer)
	case err != nil:
		return fmt.Errorf("read the answer: %w", err)
	}
	return nil
}

// read sends a request and reads the JSON of its answer.
func (c *Client) read(ctx context.Context, k call, document any) error {
	answer, err := c.send(ctx, k)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if err := decode(answer, document); err != nil {
		return failed(k.op, k.at, err)
	}
	return nil
}

// write sends a request with a JSON body and returns the header of the answer.
func (c *Client) write(ctx context.Context, op string, at modelrepo.Path, method string, body any) (http.Header, error) {
	k := call{op: op, at: at, method: method}
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, failed(op, at, err)
		}
		k.body, k.header = bytes.NewReader(data), http.Header{"Content-Type": {"application/json"}}
	}
	answer, err := c.send(ctx, k)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	if err := decode(answer, new(wire.Success)); err != nil {
		return nil, failed(op, at, err)
	}
	return answer.Header, nil
}
