package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/internal/wire"
)

// ErrAccess means that the publisher does not accept the token of a [Client], or that
// its role is not enough.
var ErrAccess = errors.New("apimgmt: access refused")

// ErrUnavailable means that a publisher could not be reached, or could not answer; the
// call can be made again.
var ErrUnavailable = errors.New("apimgmt: publisher cannot be reached")

// refusal is the error that an answer stands for.
func (a call) refusal(status int, body []byte) error {
	refusal := &apimgmt.Error{Op: a.op, Key: a.key, Kind: ErrUnavailable, Text: fmt.Sprintf("the publisher answers with status %d", status)}
	for kind, statuses := range map[error][]int{
		apimgmt.ErrInvalid: {400, 415, 422}, ErrAccess: {401, 403}, apimgmt.ErrNotFound: {404}, apimgmt.ErrConflict: {409},
		apimgmt.ErrPrecondition: {412}, apimgmt.ErrTooLarge: {413}, apimgmt.ErrGateway: {502},
	} {
		if slices.Contains(statuses, status) {
			refusal.Kind = kind
		}
	}
	var problem struct {
		Detail    json.RawMessage    `json:"detail"`
		Conflicts []apimgmt.Conflict `json:"conflicts"`
	}
	if json.Unmarshal(body, &problem) != nil {
		return refusal
	}
	refusal.Conflicts = problem.Conflicts
	if refusal.Kind == apimgmt.ErrConflict && len(refusal.Conflicts) == 0 {
		refusal.Kind = apimgmt.ErrState
	}
	var text string
	var list wire.Faults
	switch {
	case json.Unmarshal(problem.Detail, &text) == nil:
		refusal.Text = strings.TrimPrefix(text, fmt.Sprintf("%s %q: ", a.op, a.key))
	case json.Unmarshal(problem.Detail, &list) == nil:
		refusal.Text = list.Error()
	}
	return refusal
}
