package deploy_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"
)

func loadDashboards(t *testing.T) map[string]dashboard.Dashboard {
	t.Helper()
	plugins.RegisterDefaultPlugins()
	files, err := filepath.Glob("../../deploy/grafana/*.json")
	require.NoError(t, err)
	found := map[string]dashboard.Dashboard{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var d dashboard.Dashboard
		require.NoError(t, d.UnmarshalJSONStrict(text), file)
		require.NoError(t, d.Validate(), file)
		found[strings.TrimSuffix(filepath.Base(file), ".json")] = d
	}
	return found
}

// panelQueries returns the queries of a dashboard, with a value for each of Grafana's variables.
func panelQueries(t *testing.T, d dashboard.Dashboard) []string {
	t.Helper()
	replace := strings.NewReplacer("$__rate_interval", "5m", "$__range", "1h", "$instance", ".*")
	var queries []string
	for _, panel := range d.Panels {
		require.NotNil(t, panel.Panel, "rows are not used")
		require.NotEmpty(t, panel.Panel.Targets, *panel.Panel.Title)
		for _, target := range panel.Panel.Targets {
			query, is := target.(*prometheus.Dataquery)
			require.Truef(t, is, "%T", target)
			text := replace.Replace(query.Expr)
			require.NotContains(t, text, "$")
			queries = append(queries, text)
		}
	}
	return queries
}

// queryMetrics returns the names of the metrics of a query, without the suffixes of histograms.
func queryMetrics(t *testing.T, query string) []string {
	t.Helper()
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	require.NoError(t, err, query)
	var names []string
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		if selector, is := node.(*parser.VectorSelector); is {
			for _, matcher := range selector.LabelMatchers {
				if matcher.Name == model.MetricNameLabel && matcher.Type == labels.MatchEqual {
					names = append(names, strings.TrimSuffix(matcher.Value, "_bucket"))
				}
			}
		}
		return nil
	})
	require.NotEmpty(t, names, query)
	return names
}

func TestDashboards_areValidAndDoNotOverlap(t *testing.T) {
	t.Parallel()
	found := loadDashboards(t)
	require.Len(t, found, 6, "one a block, and an overview")
	uids := map[string]bool{}
	for name, d := range found {
		require.Equal(t, "enablers-"+name, *d.Uid)
		require.False(t, uids[*d.Uid])
		uids[*d.Uid] = true
		taken := map[[2]uint32]string{}
		for _, one := range d.Panels {
			panel := one.Panel
			for x := panel.GridPos.X; x < panel.GridPos.X+panel.GridPos.W; x++ {
				require.Less(t, x, uint32(24), "%s: %s", name, *panel.Title)
				for y := panel.GridPos.Y; y < panel.GridPos.Y+panel.GridPos.H; y++ {
					require.Empty(t, taken[[2]uint32{x, y}], "%s: %s", name, *panel.Title)
					taken[[2]uint32{x, y}] = *panel.Title
				}
			}
			for _, target := range panel.Targets {
				query := target.(*prometheus.Dataquery)
				require.Equal(t, "${datasource}", *query.Datasource.Uid)
				require.Regexp(t, regexp.MustCompile(`instance=~"\$instance"`), query.Expr, "%s: %s", name, *panel.Title)
			}
		}
		for _, query := range panelQueries(t, d) {
			queryMetrics(t, query)
		}
	}
}
