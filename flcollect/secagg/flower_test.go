package secagg_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/secagg"
	"github.com/iotenablers/enablers/internal/peertest"
)

// flower are clients with the mod of Flower, as testdata/clients.py describes them.
type flower struct {
	input  io.Writer
	output *bufio.Reader
}

// value is a value of a request or an answer, of which one field is set.
type value struct {
	Int   *int64    `json:"int,omitempty"`
	Float *float64  `json:"float,omitempty"`
	Text  *string   `json:"text,omitempty"`
	Bytes []byte    `json:"bytes,omitempty"`
	Ints  *[]uint64 `json:"ints,omitempty"`
	Blobs [][]byte  `json:"blobs,omitempty"`
}

func startFlower(t *testing.T, version string) *flower {
	t.Helper()
	python := peertest.Python(t, "flwr=="+version)
	command := exec.CommandContext(t.Context(), python, "testdata/clients.py")
	command.Env = append(os.Environ(), "FLWR_TELEMETRY_ENABLED=0")
	command.Stderr = t.Output()
	input, err := command.StdinPipe()
	require.NoError(t, err)
	output, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		_ = input.Close()
		_ = command.Wait()
	})
	return &flower{input, bufio.NewReader(output)}
}

// say sends a line and returns the values of the answer.
func (f *flower) say(line any) (map[string]value, error) {
	text, err := json.Marshal(line)
	if err != nil {
		return nil, err
	}
	if _, err := f.input.Write(append(text, '\n')); err != nil {
		return nil, err
	}
	text, err = f.output.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	var said struct {
		Answer map[string]value
		Error  string
	}
	if err := json.Unmarshal(text, &said); err != nil {
		return nil, err
	}
	if said.Error != "" {
		return nil, errors.New(said.Error)
	}
	return said.Answer, nil
}

// answer is what a client of Flower answers to a request.
func (f *flower) answer(client uint64, request secagg.Values) (secagg.Values, error) {
	values := map[string]value{}
	for name, v := range request {
		switch v := v.(type) {
		case int64:
			values[name] = value{Int: &v}
		case float64:
			values[name] = value{Float: &v}
		case string:
			values[name] = value{Text: &v}
		case []byte:
			values[name] = value{Bytes: v}
		case []uint64:
			values[name] = value{Ints: &v}
		case [][]byte:
			values[name] = value{Blobs: v}
		default:
			return nil, fmt.Errorf("value %q is a %T", name, v)
		}
	}
	said, err := f.say(map[string]any{"client": client, "request": values})
	if err != nil {
		return nil, err
	}
	answer := secagg.Values{}
	for name, v := range said {
		switch {
		case v.Int != nil:
			answer[name] = *v.Int
		case v.Bytes != nil:
			answer[name] = v.Bytes
		case v.Ints != nil:
			answer[name] = *v.Ints
		default:
			answer[name] = v.Blobs
		}
	}
	return answer, nil
}

// TestRound_Run_withFlower has half of the clients run Flower's mod, and half run ours. One of
// Flower's leaves when the others have its shares, and one of ours before it has answered.
func TestRound_Run_withFlower(t *testing.T) {
	for _, version := range []string{"1.30.0", "1.41.0"} {
		t.Run(version, func(t *testing.T) {
			theirs := startFlower(t, version)
			p := newParty(t, 8)
			for id := range p.weights {
				p.weights[id] = int64(40 * id)
			}
			p.rename(t, 3, 1<<63+5) // identifiers of Flower's nodes are as large
			ids := slices.Sorted(maps.Keys(p.clients))
			flowers := map[uint64]bool{}
			for i, id := range ids {
				if i%2 == 0 {
					continue
				}
				flowers[id] = true
				_, err := theirs.say(map[string]any{"client": id, "examples": p.weights[id],
					"arrays": []any{[]any{p.updates[id][:6], []int{2, 3}}, []any{p.updates[id][6:], []int{}}}})
				require.NoError(t, err)
			}
			require.Len(t, flowers, 4)
			config := p.config()
			config.Threshold = 5
			config.Exchange = func(ctx context.Context, stage secagg.Stage, requests map[uint64]secagg.Values,
				reply func(uint64, secagg.Values, error)) error {
				for id, request := range requests {
					switch {
					case stage == secagg.StageSetup && id == ids[0], stage == secagg.StageCollect && id == ids[3]:
						reply(id, nil, errGone)
					case flowers[id]:
						answer, err := theirs.answer(id, request)
						reply(id, answer, err)
					default:
						answer, err := p.clients[id].Answer(ctx, request)
						reply(id, answer, err)
					}
				}
				return nil
			}
			for range 2 { // the state of the mod goes on
				result, err := run(t, config)
				require.NoError(t, err, "%v", result.Failures)
				require.Equal(t, []secagg.Failure{
					{Client: ids[0], Stage: secagg.StageSetup, Err: errGone}, {Client: ids[3], Stage: secagg.StageCollect, Err: errGone},
				}, result.Failures)
				require.Len(t, result.Clients, 6)
				p.requireMean(t, result)
			}
		})
	}
}
