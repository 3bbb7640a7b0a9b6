package deploy_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	_ "github.com/prometheus/prometheus/discovery/kubernetes" // for the example of Kubernetes
)

const (
	prometheusFolder = "../../deploy/prometheus"
	alertsFile       = prometheusFolder + "/alerts.yaml"
)

// alertCase is a test of one alert.
type alertCase struct {
	At       string            `json:"at"`
	SilentAt string            `json:"silent_at"`
	Fires    map[string]string `json:"fires"`
	Silent   map[string]string `json:"silent"`
}

// TestAlerts_fireAndStaySilent runs the rules as Prometheus does, a minute at a time: each alert
// fires for what its case says, and does not for what is close to it.
func TestAlerts_fireAndStaySilent(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/alerts.yaml")
	require.NoError(t, err)
	cases := map[string]alertCase{}
	require.NoError(t, yaml.UnmarshalStrict(text, &cases))
	var names []string
	for _, rule := range alertsAt(t, nil, 0) {
		names = append(names, rule.Name())
	}
	require.ElementsMatch(t, names, slices.Collect(maps.Keys(cases)), "each alert has a case")
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at, err := time.ParseDuration(c.At)
			require.NoError(t, err)
			require.NotEmpty(t, c.Fires)
			require.NotEmpty(t, c.Silent)
			firing := firingAt(t, name, c.Fires, at)
			require.Len(t, firing, 1)
			for kind, text := range firing[0].Annotations.Map() {
				require.NotContains(t, text, "error expanding", kind)
				require.NotContains(t, text, "no value", kind)
				require.NotContains(t, text, "{{", kind)
			}
			require.Contains(t, []string{"warning", "critical"}, firing[0].Labels.Get("severity"))
			if c.SilentAt != "" {
				at, err = time.ParseDuration(c.SilentAt)
				require.NoError(t, err)
			}
			require.Empty(t, firingAt(t, name, c.Silent, at))
		})
	}
}

func firingAt(t *testing.T, name string, series map[string]string, at time.Duration) []*rules.Alert {
	t.Helper()
	var firing []*rules.Alert
	for _, rule := range alertsAt(t, series, at) {
		if rule.Name() != name {
			continue
		}
		for _, active := range rule.ActiveAlerts() {
			if active.State == rules.StateFiring {
				firing = append(firing, active)
			}
		}
	}
	return firing
}

// alertsAt returns the alerts as they are when the rules were evaluated each minute until then.
func alertsAt(t *testing.T, series map[string]string, at time.Duration) []*rules.AlertingRule {
	t.Helper()
	var load strings.Builder
	load.WriteString("load 1m\n")
	for _, name := range slices.Sorted(maps.Keys(series)) {
		fmt.Fprintf(&load, "  %s %s\n", name, series[name])
	}
	suite, err := promqltest.NewLazyLoader(load.String(), promqltest.LazyLoaderOpts{EnableAtModifier: true, EnableNegativeOffset: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, suite.Close()) }()
	manager := rules.NewManager(&rules.ManagerOptions{
		QueryFunc:  rules.EngineQueryFunc(suite.QueryEngine(), suite.Storage()),
		Appendable: suite.Storage(), Context: t.Context(), Logger: promslog.NewNopLogger(),
		NotifyFunc: func(context.Context, string, ...*rules.Alert) {},
		Parser:     parser.NewParser(parser.Options{}),
	})
	groups, errs := manager.LoadGroups(time.Minute, labels.EmptyLabels(), "", nil, false, alertsFile)
	require.Empty(t, errs)
	var alerts []*rules.AlertingRule
	for _, group := range groups {
		for _, rule := range group.Rules() {
			alert, is := rule.(*rules.AlertingRule)
			require.True(t, is, rule.Name())
			alert.SetRestored(true)
			alerts = append(alerts, alert)
		}
	}
	for now := time.Duration(0); now <= at; now += time.Minute {
		when := time.Unix(0, 0).UTC().Add(now)
		suite.WithSamplesTill(when, func(err error) {
			require.NoError(t, err)
			for _, group := range groups {
				group.Eval(suite.Context(), when)
			}
		})
		for _, alert := range alerts {
			require.NoError(t, alert.LastError(), alert.Name())
		}
	}
	return alerts
}

func TestPrometheus_examplesAreValid(t *testing.T) {
	t.Parallel()
	servers := []string{"annotator", "apimanager", "flcollector", "gateway", "modelrepo", "multilink"}
	for name, want := range map[string][]string{"prometheus.yaml": servers, "kubernetes.yaml": append(servers, "gateways")} {
		text, err := os.ReadFile(prometheusFolder + "/" + name)
		require.NoError(t, err)
		loaded, err := config.Load(string(text), promslog.NewNopLogger())
		require.NoError(t, err, name)
		require.Equal(t, []string{"alerts.yaml"}, loaded.RuleFiles)
		var jobs []string
		for _, job := range loaded.ScrapeConfigs {
			jobs = append(jobs, job.JobName)
			require.NotEmpty(t, job.HTTPClientConfig.Authorization.CredentialsFile, job.JobName)
			require.Len(t, job.ServiceDiscoveryConfigs, 1)
		}
		require.ElementsMatch(t, want, jobs)
		require.Equal(t, model.Duration(15*time.Second), loaded.GlobalConfig.ScrapeInterval)
	}
}
