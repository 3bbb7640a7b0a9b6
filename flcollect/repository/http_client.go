package repository

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/internal/httpclient"
)

var _ flcollect.Repository = (*Client)(nil)

// ClientConfig configures a [Client].
type ClientConfig struct {
	// BaseURL is where the repository is, such as "http://flrepository:9012".
	// Required.
	BaseURL string
	// Token is sent with each request, as "Authorization: Bearer TOKEN", and to no
	// other server that a redirect names. Empty means none.
	Token string
	// HTTP sends the requests. Nil means a zero [http.Client]. Its Timeout also
	// cuts long uploads and downloads off; use the next field instead.
	HTTP *http.Client
	// Timeout is how long a request may take without a byte moving. Zero means
	// two minutes.
	Timeout time.Duration
	// NPZ has Store send the weights as .npz too, in a second field of the form,
	// for a repository served by [NewHandler]. To the original the same weights
	// would go twice for nothing.
	NPZ bool
	// MaxModel is the greatest size of a model's parameters in bytes. Zero means
	// 2 GiB.
	MaxModel int64
	// Strategies and MaxStrategy are as in [Config].
	Strategies  Loader
	MaxStrategy int64
	// Dir is the folder for a model's file while it is read. Empty means that of
	// the operating system.
	Dir string
}

// Client is the client of an FL repository that [NewHandler] or the original serves. The
// error of what the repository will never take matches flcollect.ErrRefused. It is safe
// for concurrent use. Create one with [NewClient].
type Client struct {
	base   *url.URL
	http   *http.Client
	config ClientConfig
}

// NewClient returns a client. It sends no request.
func NewClient(config ClientConfig) (*Client, error) {
	base, err := httpclient.BaseURL(config.BaseURL)
	switch {
	case err != nil:
		return nil, fmt.Errorf("repository: ClientConfig.BaseURL is %w", err)
	case config.Timeout < 0:
		return nil, fmt.Errorf("repository: ClientConfig.Timeout is %v, and has to be positive", config.Timeout)
	case config.MaxModel < 0:
		return nil, fmt.Errorf("repository: ClientConfig.MaxModel is %d, and has to be positive", config.MaxModel)
	case config.MaxStrategy < 0:
		return nil, fmt.Errorf("repository: ClientConfig.MaxStrategy is %d, and has to be positive", config.MaxStrategy)
	}
	if err := httpclient.CheckToken(config.Token, base); err != nil {
		return nil, fmt.Errorf("repository: ClientConfig.Token: %w", err)
	}
	config.Timeout = cmp.Or(config.Timeout, 2*time.Minute)
	config.MaxStrategy = min(cmp.Or(config.MaxStrategy, defaultMaxStrategy), largestLimit)
	config.MaxModel = min(cmp.Or(config.MaxModel, defaultMaxModel), largestLimit)
	return &Client{base: base, http: httpclient.New(config.HTTP), config: config}, nil
}

// Store stores a result: its record, and then the weights as a pickle. It may be
// called again with the same result; another result of the same training is
// refused. A repository that asks for another token counts as unavailable, so that the
// result is kept until the token is right.
func (c *Client) Store(ctx context.Context, result flcollect.Result) error {
	err := deliver(ctx, remote{c}, result)
	var denied *deniedError
	if errors.As(err, &denied) {
		err = fmt.Errorf("%w: %s", ErrUnavailable, denied.answer)
	}
	if err != nil {
		return failed("store result of training", result.TrainingID, err)
	}
	return nil
}

// Model does what [Store.Model] does.
func (c *Client) Model(ctx context.Context, name, version string) (strategy.Model, error) {
	model, _, err := c.NamedModel(ctx, name, version)
	return model, err
}

// NamedModel does what [Store.NamedModel] does.
func (c *Client) NamedModel(ctx context.Context, name, version string) (strategy.Model, []string, error) {
	if !sendable(name) || !sendable(version) {
		return nil, nil, failed("get model", name+" "+version, flcollect.ErrNoModel)
	}
	model, layers, err := c.model(ctx, name, version)
	if err != nil {
		return nil, nil, failed("get model", name+" "+version, err)
	}
	return model, layers, nil
}

func (c *Client) model(ctx context.Context, name, version string) (strategy.Model, []string, error) {
	answer, err := c.send(ctx, call{method: http.MethodGet, path: []string{"model", name, version}})
	if err != nil {
		return nil, nil, err
	}
	defer answer.close()
	switch {
	case offersNone(answer.StatusCode):
		return nil, nil, fmt.Errorf("%w: %v", flcollect.ErrNoModel, answer.failure())
	case answer.StatusCode >= 500:
		// The original answers so if there is no record.
		failure := answer.failure()
		switch has, err := c.hasModel(ctx, name, version); {
		case err != nil:
			return nil, nil, failure
		case has:
			return nil, nil, fmt.Errorf("the model is there, but its file is not given out: %v", failure)
		}
		return nil, nil, fmt.Errorf("%w: %v", flcollect.ErrNoModel, failure)
	case answer.StatusCode >= 300:
		return nil, nil, answer.failure()
	}
	return readParameters(answer, c.config.Dir, c.config.MaxModel)
}

// offersNone reports whether an answer says that there is no such thing, or none
// of its kind: a repository may be one for results alone.
func offersNone(status int) bool {
	switch {
	case httpclient.Denied(status): // an operator has to see it
		return false
	case status == http.StatusNotImplemented:
		return true
	}
	return httpclient.Refused(status)
}

// hasModel reports whether there is a record of a model with a file.
func (c *Client) hasModel(ctx context.Context, name, version string) (bool, error) {
	query := url.Values{"model_name": {name}, "model_version": {version}}
	answer, err := c.send(ctx, call{method: http.MethodGet, path: []string{"model", "meta"}, query: query})
	if err != nil {
		return false, err
	}
	defer answer.close()
	switch {
	case offersNone(answer.StatusCode):
		return false, nil
	case answer.StatusCode != http.StatusOK:
		return false, answer.failure()
	}
	var model struct {
		ID *string `json:"model_id"`
	}
	err = json.NewDecoder(io.LimitReader(answer, maxBody)).Decode(&model)
	return model.ID != nil, err
}

// Strategy does what [Store.Strategy] does.
func (c *Client) Strategy(ctx context.Context, name string, conf strategy.Conf) (strategy.Strategy, error) {
	found, err := c.first(ctx, []string{"strategy"}, func(r record) bool { return r.text("strategy_name") == name })
	shop := workshop{c.config.Strategies, c.config.MaxStrategy, c.openStrategy}
	switch {
	case errors.Is(err, ErrNotFound) && sendable(name) && shop.load != nil: // there may be no list, and a file all the same
		return shop.fromFile(ctx, name, conf)
	case errors.Is(err, ErrNotFound):
		return nil, failed("get strategy", name, fmt.Errorf("%w: %v", flcollect.ErrNoStrategy, err))
	case err != nil:
		return nil, failed("get strategy", name, err)
	}
	return shop.fromRecord(ctx, found, conf)
}

// openStrategy returns the file of a strategy, which the caller closes.
func (c *Client) openStrategy(ctx context.Context, name string) (io.ReadCloser, error) {
	answer, err := c.send(ctx, call{method: http.MethodGet, path: []string{"strategy", name}})
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		defer answer.close()
		if offersNone(answer.StatusCode) {
			return nil, fmt.Errorf("%w: %v", flcollect.ErrNoStrategy, answer.failure())
		}
		return nil, answer.failure()
	}
	return answer, nil
}

// remote is the other side as a target of results.
type remote struct{ client *Client }

func (r remote) create(ctx context.Context, document record) error {
	data, err := json.Marshal(document)
	if err != nil {
		return fmt.Errorf("%w: %w", flcollect.ErrRefused, err)
	}
	answer, err := r.client.send(ctx, call{
		method: http.MethodPost, path: []string{"training-results"},
		contentType: "application/json", length: int64(len(data)),
		body: func(w io.Writer) error { _, err := w.Write(data); return err },
	})
	if err != nil {
		return err
	}
	defer answer.close()
	switch answer.StatusCode {
	case http.StatusOK, http.StatusCreated, http.StatusNoContent:
		return nil
	case http.StatusBadRequest, http.StatusConflict:
		return fmt.Errorf("%w: %w", ErrExists, answer.failure())
	}
	return answer.failure()
}

func (r remote) find(ctx context.Context, document record) (record, error) {
	names := trainingNames(document)
	return r.client.first(ctx, []string{"training-results", names[0], names[1]},
		func(found record) bool { return found.text("training_id") == names[2] })
}

// maxList is the most of a list that is read in bytes.
const maxList = 256 << 20

// first returns the first record of a list that is meant.
func (c *Client) first(ctx context.Context, path []string, meant func(record) bool) (record, error) {
	answer, err := c.send(ctx, call{method: http.MethodGet, path: path})
	if err != nil {
		return nil, err
	}
	defer answer.close()
	what := "/" + strings.Join(path, "/")
	switch {
	case offersNone(answer.StatusCode):
		return nil, failed("look through", what, fmt.Errorf("%w: %v", ErrNotFound, answer.failure()))
	case answer.StatusCode != http.StatusOK:
		return nil, answer.failure()
	}
	decoder := json.NewDecoder(io.LimitReader(answer, maxList))
	if open, err := decoder.Token(); err != nil || open != json.Delim('[') {
		return nil, failed("look through", what, errors.Join(errors.New("the answer is no list"), err))
	}
	for decoder.More() {
		var r record
		if err := decoder.Decode(&r); err != nil {
			return nil, failed("look through", what, err)
		}
		if meant(r) {
			return r, nil
		}
	}
	if _, err := decoder.Token(); err != nil {
		return nil, failed("look through", what, err)
	}
	return nil, failed("look through", what, ErrNotFound)
}
