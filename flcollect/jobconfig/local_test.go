package jobconfig_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/jobconfig"
)

func TestParse_readsLocalLayers(t *testing.T) {
	got, err := jobconfig.Parse(body(t, map[string]string{"server_conf": `{"local_layers":[3,"head.bias","4",0]}`}))
	require.NoError(t, err)
	require.Equal(t, []string{"3", "head.bias", "4", "0"}, got.LocalLayers)
	stored, data, err := got.Stored()
	require.NoError(t, err)
	require.Equal(t, got.LocalLayers, stored.LocalLayers)
	require.Contains(t, string(data), `"local_layers":["3","head.bias","4","0"]`)
	again, err := jobconfig.Parse(data)
	require.NoError(t, err)
	require.Equal(t, got.LocalLayers, again.LocalLayers)

	for text, want := range map[string]string{
		`3`:        "server_conf.local_layers: is not a list",
		`[-1]`:     "server_conf.local_layers.0: is less than 0",
		`[1.5]`:    "server_conf.local_layers.0: is not a whole number",
		`[""]`:     "server_conf.local_layers.0: has fewer than 1 characters",
		`[null]`:   "server_conf.local_layers.0: must not be null",
		`["a,b"]`:  `server_conf.local_layers.0: "a,b" has a comma`,
		`[1,"1"]`:  `server_conf.local_layers.1: layer "1" is listed twice`,
		`["a",[]]`: "server_conf.local_layers.1: is not text",
	} {
		_, err := jobconfig.Parse(body(t, map[string]string{"server_conf": `{"local_layers":` + text + `}`}))
		require.ErrorContains(t, err, want)
	}
	_, err = jobconfig.Parse(body(t, map[string]string{"server_conf": `{"local_layers":[1]}`,
		"privacy-mechanisms": `{"homomorphic":{"scheme":"CKKS"}}`}))
	require.ErrorContains(t, err, "server_conf.local_layers: the updates of the job are encrypted")
	_, err = jobconfig.Config{Strategy: "avg", Rounds: 1, LocalLayers: []string{"a", "a"}}.Check()
	require.ErrorIs(t, err, jobconfig.ErrInvalid)
}
