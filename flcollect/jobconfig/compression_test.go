package jobconfig_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

func TestParse_readsCompression(t *testing.T) {
	got, err := jobconfig.Parse(body(t, map[string]string{"server_conf": `{"compression":["topk","float16"]}`}))
	require.NoError(t, err)
	require.Equal(t, []string{"topk", "float16"}, got.Compression)
	stored, data, err := got.Stored()
	require.NoError(t, err)
	require.Equal(t, got.Compression, stored.Compression)
	require.Contains(t, string(data), `"compression":["topk","float16"]`)
	stored.Copy().Compression[0] = "int8"
	require.Equal(t, "topk", stored.Compression[0])

	for _, none := range []string{`{}`, `{"compression":null}`, `{"compression":[]}`} {
		got, err := jobconfig.Parse(body(t, map[string]string{"server_conf": none}))
		require.NoError(t, err)
		require.Nil(t, got.Compression)
		text, err := json.Marshal(got)
		require.NoError(t, err)
		require.NotContains(t, string(text), "compression")
	}
}

func TestParse_refusesCompressionThatThereIsNot(t *testing.T) {
	for text, want := range map[string]string{
		`"int8"`:                        "server_conf.compression: is not a list",
		`["zip"]`:                       `server_conf.compression.0: unknown kind of compression "zip", known are [float16 int8 topk]`,
		`["int8","int8"]`:               `server_conf.compression.1: "int8" is listed twice`,
		`["int8",{}]`:                   "server_conf.compression.1: is not text",
		`["int8","topk","int8","topk"]`: "server_conf.compression: has more than 3 elements",
	} {
		_, err := jobconfig.Parse(body(t, map[string]string{"server_conf": `{"compression":` + text + `}`}))
		require.ErrorContains(t, err, want)
	}
	sealed := map[string]string{"server_conf": `{"compression":["int8"]}`, "privacy-mechanisms": `{"homomorphic":{"scheme":"CKKS"}}`}
	_, err := jobconfig.Parse(body(t, sealed))
	require.ErrorContains(t, err, "server_conf.compression: the updates of the job are encrypted")
	noised := map[string]string{"server_conf": `{"compression":["int8"]}`,
		"privacy-mechanisms": `{"dp-adaptive":{"num_sampled_clients":100,"server_side_noising":false}}`}
	_, err = jobconfig.Parse(body(t, noised))
	require.ErrorContains(t, err, "server_conf.compression: clients add the noise of differential privacy")

	c := jobconfig.Config{Strategy: "avg", Rounds: 1, Compression: []string{"zip"}}
	_, err = c.Check()
	require.ErrorIs(t, err, jobconfig.ErrInvalid)
	c.Compression, c.DPAdaptive = []string{"int8"}, strategy.Conf{"num_sampled_clients": 100, "server_side_noising": false}
	_, err = c.Check()
	require.ErrorContains(t, err, "clients add the noise")
}
