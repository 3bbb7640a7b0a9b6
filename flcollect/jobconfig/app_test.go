package jobconfig_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/jobconfig"
)

func TestParse_readsTheAppOfSuperNodes(t *testing.T) {
	for app, server := range map[string]string{
		"acme/vision": `{"num_rounds": 1}`, "a.b-c_d/e==1.0.dev0+x!1": `{"records": "arrays"}`, "1/2": `{"records": null}`,
	} {
		c, err := jobconfig.Parse(body(t, map[string]string{"app": `"` + app + `"`, "server_conf": server}))
		require.NoError(t, err)
		require.Equal(t, app, c.App)
		require.Equal(t, jobconfig.Arrays, c.Records)
	}
	c, err := jobconfig.Parse(body(t, map[string]string{"app": `"acme/vision"`, "server_conf": `{"records": "fitins"}`}))
	require.NoError(t, err)
	require.Equal(t, jobconfig.FitIns, c.Records)
	data, err := json.Marshal(c)
	require.NoError(t, err)
	require.Contains(t, string(data), `"app":"acme/vision"`)
	require.Contains(t, string(data), `"records":"fitins"`)
	c, err = jobconfig.Parse(body(t, nil))
	require.NoError(t, err)
	data, err = json.Marshal(c)
	require.NoError(t, err)
	require.NotContains(t, string(data), "records", "jobs without an app are stored as before")
}

func TestParse_reportsAppsThatCannotBe(t *testing.T) {
	for want, members := range map[string]map[string]string{
		`app: is "vision", must be "publisher/name" or "publisher/name==version"`: {"app": `"vision"`},
		`app: is "a/b/c",`:            {"app": `"a/b/c"`},
		`app: is "a/b==",`:            {"app": `"a/b=="`},
		`app: is "a/b=1",`:            {"app": `"a/b=1"`},
		`app: is "../b",`:             {"app": `"../b"`},
		`app: is "a/ b",`:             {"app": `"a/ b"`},
		`app: has 258 bytes`:          {"app": `"a/` + strings.Repeat("b", 256) + `"`},
		`app: has fewer than 1`:       {"app": `""`},
		`server_conf.records: is "x"`: {"app": `"a/b"`, "server_conf": `{"records": "x"}`},
		`server_conf.records: has a meaning only with an app`: {"server_conf": `{"records": "fitins"}`},
		`server_conf.records: must be "fitins" where updates are encrypted`: {
			"app": `"a/b"`, "privacy-mechanisms": `{"homomorphic": {}}`,
		},
	} {
		_, err := jobconfig.Parse(body(t, members))
		var faults *jobconfig.Error
		require.True(t, errors.As(err, &faults), want)
		require.Len(t, faults.Faults, 1, want)
		require.Contains(t, faults.Faults[0].String(), want)
	}
}

func TestConfig_Check_refusesAppsThatCannotBe(t *testing.T) {
	c := jobconfig.Config{Strategy: "avg", Rounds: 1, App: "acme/vision"}
	checked, err := c.Check()
	require.NoError(t, err)
	require.Equal(t, jobconfig.Arrays, checked.Records)
	c.App = "vision"
	_, err = c.Check()
	require.ErrorIs(t, err, jobconfig.ErrInvalid)
	c.App, c.Records = "", jobconfig.FitIns
	_, err = c.Check()
	require.ErrorIs(t, err, jobconfig.ErrInvalid)
}
