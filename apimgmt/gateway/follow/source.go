package follow

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/gateway/admin"
	"github.com/iotenablers/enablers/internal/httpclient"
)

// maxSnapshot is the greatest length of an answer of the control plane, in bytes.
const maxSnapshot = 256 << 20

// source is the Admin API of a control plane.
type source struct {
	address string
	token   string
	client  *http.Client
}

func newSource(c Config) (*source, error) {
	base, err := httpclient.BaseURL(c.ControlPlane)
	if err != nil {
		return nil, fmt.Errorf("follow: Config.ControlPlane: %w", err)
	}
	if err := httpclient.CheckToken(c.Token, base); err != nil {
		return nil, fmt.Errorf("follow: Config.Token: %w", err)
	}
	return &source{address: base.JoinPath(admin.DataPlanePath).String(), token: c.Token, client: httpclient.New(c.HTTPClient)}, nil
}

// fetch returns the configuration and its tag; nil if it is the one that the tag names. A proxy
// in between may make the tag a weak one, or leave out the condition.
func (s *source) fetch(ctx context.Context, known string) (data []byte, tag string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.address, nil)
	if err != nil {
		return nil, "", err
	}
	httpclient.Authorize(request, s.token)
	if known != "" {
		request.Header.Set("If-None-Match", known)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = response.Body.Close() }()
	tag = strings.TrimPrefix(response.Header.Get("ETag"), "W/")
	switch {
	case response.StatusCode == http.StatusNotModified && known != "":
		return nil, known, nil
	case response.StatusCode == http.StatusServiceUnavailable:
		return nil, "", errors.New("it answers with status 503: it does not serve what is stored now")
	case httpclient.Denied(response.StatusCode):
		return nil, "", fmt.Errorf("it answers with status %d: the token is to have the role admin there", response.StatusCode)
	case response.StatusCode != http.StatusOK:
		return nil, "", fmt.Errorf("it answers with status %d; is that its admin API?", response.StatusCode)
	case tag == "":
		return nil, "", errors.New("its answer has no ETag; is that its admin API?")
	case tag == known:
		return nil, known, nil
	}
	data, err = io.ReadAll(io.LimitReader(response.Body, maxSnapshot+1))
	switch {
	case err != nil:
		return nil, "", err
	case len(data) > maxSnapshot:
		return nil, "", fmt.Errorf("the configuration is longer than %d bytes", maxSnapshot)
	}
	return data, tag, nil
}

// decode reads a configuration as the control plane sends it. A member that this version does
// not have is an error: it may be a restriction.
func decode(data []byte) (admin.Snapshot, error) {
	var read admin.Snapshot
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&read); err != nil {
		return admin.Snapshot{}, fmt.Errorf("it is not a configuration: %w", err)
	}
	if read.Secret == "" {
		return admin.Snapshot{}, errors.New("it is not a configuration of a control plane: it has no secret")
	}
	return read, nil
}
