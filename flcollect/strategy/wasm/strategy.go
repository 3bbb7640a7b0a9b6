package wasm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

var _ strategy.Strategy = (*Strategy)(nil)

// Strategy is a strategy.Strategy that a module computes. Make one with
// [Module.Strategy].
type Strategy struct {
	module *Module
	name   string
	conf   map[string]string // parameters as text
	policy strategy.Policy
	gather bool

	mu      sync.Mutex // rounds end concurrently with others
	state   []byte
	trouble error // of Configure, which cannot return it
}

// Strategy returns a strategy with the parameters of a job. The name is used in
// errors; those of parameters are *strategy.FieldError.
func (m *Module) Strategy(ctx context.Context, name string, conf strategy.Conf) (*Strategy, error) {
	s := &Strategy{module: m, name: name, conf: map[string]string{}}
	for field, value := range conf {
		if value != nil {
			s.conf[field] = asText(value)
		}
	}
	g := &guest{strategy: s, asked: map[string]bool{}, defaults: strategy.Conf{}}
	defer g.close()
	err := m.start(ctx, g)
	if err == nil && g.has("fl_setup") {
		_, _, err = g.call(ctx, duringSetup, "fl_setup")
	}
	if field := (*strategy.FieldError)(nil); errors.As(err, &field) {
		return nil, field
	} else if err != nil {
		return nil, s.failed("make", err)
	}
	if s.gather = g.gather; !s.gather && !g.has("fl_add") {
		return nil, s.failed("make", fmt.Errorf("%w: it neither exports fl_add nor gathers updates", ErrModule))
	}
	for _, field := range slices.Sorted(maps.Keys(s.conf)) {
		if !g.asked[field] && !slices.Contains(policyFields(), field) {
			return nil, &strategy.FieldError{Strategy: name, Field: field, Reason: "unknown to this strategy"}
		}
	}
	s.policy, err = readPolicy(name, conf, g.defaults)
	return s, err
}

func (s *Strategy) failed(verb string, err error) error {
	return fmt.Errorf("%s strategy %q: %w", verb, s.name, err)
}

// asText returns a parameter in the form that modules read.
func asText(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case bool:
		if v {
			return "1"
		}
		return "0"
	case json.Number:
		return v.String()
	}
	return fmt.Sprint(value)
}

// policyFields are the parameters of sampling and failures.
func policyFields() []string {
	return []string{"fraction_fit", "fraction_evaluate", "min_fit_clients", "min_evaluate_clients", "min_available_clients",
		"accept_failures", completionFit, completionEvaluate}
}

const (
	completionFit      = "min_completion_rate_fit"
	completionEvaluate = "min_completion_rate_evaluate"
)

// readPolicy reads the policy as the built-in strategies read it.
func readPolicy(name string, conf, defaults strategy.Conf) (strategy.Policy, error) {
	sampling, completion := strategy.Conf{}, strategy.Conf{completionFit: 0, completionEvaluate: 0}
	for _, field := range policyFields() {
		value := conf[field]
		if value == nil {
			value = defaults[field]
		}
		switch {
		case value == nil:
		case strings.HasPrefix(field, "min_completion"):
			completion[field] = value
		default:
			sampling[field] = value
		}
	}
	mean, err := strategy.New("FedAvg", sampling)
	if err != nil {
		return strategy.Policy{}, rename(err, name)
	}
	tolerant, err := strategy.New("FaultTolerantFedAvg", completion)
	if err != nil {
		return strategy.Policy{}, rename(err, name)
	}
	policy := mean.Policy()
	policy.Fit.MinCompletion = tolerant.Policy().Fit.MinCompletion
	policy.Evaluate.MinCompletion = tolerant.Policy().Evaluate.MinCompletion
	return policy, nil
}

// rename puts the name of the strategy into the error of a parameter.
func rename(err error, name string) error {
	if field, ok := err.(*strategy.FieldError); ok {
		return &strategy.FieldError{Strategy: name, Field: field.Field, Reason: field.Reason}
	}
	return err
}

// Policy implements strategy.Strategy.
func (s *Strategy) Policy() strategy.Policy { return s.policy }

// Configure implements strategy.Strategy. If the module fails here, so does the next
// round.
func (s *Strategy) Configure(phase strategy.Phase, round int, config map[string]any) {
	if !s.module.exports["fl_configure"] {
		return
	}
	g := &guest{strategy: s, config: map[string]any{}}
	defer g.close()
	err := s.module.start(context.Background(), g)
	if err == nil {
		_, _, err = g.call(context.Background(), duringConfigure, "fl_configure", uint64(phase), uint64(uint32(round)))
	}
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.trouble = s.failed("configure clients with", err)
		return
	}
	maps.Copy(config, g.config)
}

// State implements strategy.Strategy. The state is one tensor with the bytes of the
// module, if it has any.
func (s *Strategy) State() []tensor.Tensor {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == nil {
		return nil
	}
	made, err := tensor.New(tensor.Uint8, []int{len(s.state)}, slices.Clone(s.state))
	if err != nil {
		panic(err) // bytes fill a shape of bytes
	}
	return []tensor.Tensor{made}
}

// Restore implements strategy.Strategy.
func (s *Strategy) Restore(state []tensor.Tensor) error {
	var data []byte
	switch {
	case len(state) > 1:
		return s.failed("restore", fmt.Errorf("%d tensors, expected one", len(state)))
	case len(state) == 1 && (state[0].DType() != tensor.Uint8 || len(state[0].Shape()) != 1):
		return s.failed("restore", fmt.Errorf("%v of shape %v is no vector of bytes", state[0].DType(), state[0].Shape()))
	case len(state) == 1 && int64(state[0].Size()) > s.module.options.MaxState:
		return s.failed("restore", fmt.Errorf("%d bytes of state, more than %d", state[0].Size(), s.module.options.MaxState))
	case len(state) == 1:
		data = slices.Concat(append([][]byte{{}}, state[0].Chunks()...)...)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = data
	return nil
}
