package bonding

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"

	"github.com/iotenablers/enablers/multilink/node"
)

// actor is an instance that runs, with its REST interface on loopback.
type actor struct {
	url    string
	token  string
	client *http.Client
	close  func() error
}

// newActor runs an instance until the actor is closed.
func newActor(ctx context.Context, n *node.Node, token string) (*actor, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	server := &http.Server{Handler: n.Handler(), ReadHeaderTimeout: patience, BaseContext: func(net.Listener) context.Context { return ctx }}
	var (
		tasks       sync.WaitGroup
		ran, served error
	)
	tasks.Go(func() { ran = n.Run(ctx) })
	tasks.Go(func() { served = server.Serve(listener) })
	a := &actor{url: "http://" + listener.Addr().String(), token: token, client: &http.Client{Transport: &http.Transport{}, Timeout: patience}}
	a.close = func() error {
		cancel()
		a.client.CloseIdleConnections()
		closed := server.Close()
		tasks.Wait()
		if errors.Is(served, http.ErrServerClosed) {
			served = nil
		}
		if errors.Is(ran, context.Canceled) {
			ran = nil
		}
		return errors.Join(ran, served, closed)
	}
	return a, nil
}

// post calls the instance as any client does.
func (a *actor) post(ctx context.Context, path string, body, into any) error {
	encoded, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url+path, bytes.NewReader(encoded))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+a.token)
	request.Header.Set("Content-Type", "application/json")
	answer, err := a.client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err != nil {
		return err
	}
	if answer.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("POST %s: %s: %s", path, answer.Status, content)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(content, into)
}
