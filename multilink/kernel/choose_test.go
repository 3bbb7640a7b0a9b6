//go:build linux

package kernel

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink/settings"
	"github.com/iotenablers/enablers/multilink/status"
)

func TestChoose_takesTheBestPath(t *testing.T) {
	const (
		up, probing, down = status.Up, status.Probing, status.Down
		always            = settings.ReselectAlways
		better            = settings.ReselectBetter
		failure           = settings.ReselectFailure
	)
	for name, c := range map[string]struct {
		wifi, mesh, mobile status.State
		current, preferred string
		reselect           settings.Reselect
		metered            bool // WiFi
		slow               bool // WiFi
		want               string
	}{
		"the primary":                            {wifi: up, mesh: up, mobile: up, want: "wifi"},
		"the next one":                           {wifi: down, mesh: up, mobile: up, current: "wifi", want: "mesh"},
		"nothing, of nothing":                    {wifi: down, mesh: down, mobile: down, current: "mesh", want: ""},
		"one that is heard, rather than none":    {wifi: down, mesh: probing, mobile: down, current: "wifi", want: "mesh"},
		"not one that is only heard":             {wifi: probing, mesh: up, mobile: up, current: "mesh", want: "mesh"},
		"no change between those that are heard": {wifi: probing, mesh: probing, mobile: down, current: "mesh", want: "mesh"},
		"the primary again":                      {wifi: up, mesh: up, mobile: up, current: "5g", reselect: always, want: "wifi"},
		"what serves, until it fails":            {wifi: up, mesh: up, mobile: up, current: "5g", reselect: failure, want: "5g"},
		"another once it has failed":             {wifi: up, mesh: up, mobile: down, current: "5g", reselect: failure, want: "wifi"},
		"the primary if it is no slower":         {wifi: up, mesh: up, mobile: up, current: "mesh", reselect: better, want: "wifi"},
		"not the primary if it is slower": {wifi: up, mesh: up, mobile: up, current: "mesh",
			reselect: better, slow: true, want: "mesh"},
		"a metered one last":                        {wifi: up, mesh: up, mobile: up, metered: true, want: "mesh"},
		"a metered one if nothing else is left":     {wifi: up, mesh: down, mobile: down, metered: true, want: "wifi"},
		"the preferred one":                         {wifi: up, mesh: up, mobile: up, current: "wifi", preferred: "5g", want: "5g"},
		"not a preferred one that does not carry":   {wifi: up, mesh: up, mobile: down, current: "wifi", preferred: "5g", want: "wifi"},
		"not a preferred one that is not yet there": {wifi: up, mesh: up, mobile: probing, current: "wifi", preferred: "5g", want: "wifi"},
	} {
		t.Run(name, func(t *testing.T) {
			var paths []*path
			var current *path
			for i, one := range []struct {
				name  string
				state status.State
			}{{"5g", c.mobile}, {"wifi", c.wifi}, {"mesh", c.mesh}} {
				p := &path{
					link: &link{config: settings.Link{Name: one.name, Priority: []int{3, 1, 2}[i],
						Metered: c.metered && one.name == "wifi"}},
					watch: &watch{state: one.state, srtt: 10},
				}
				if c.slow && one.name == "wifi" {
					p.watch.srtt = 20
				}
				if one.name == c.current {
					current = p
				}
				paths = append(paths, p)
			}
			got := ""
			if chosen := choose(paths, current, c.preferred, c.reselect); chosen != nil {
				got = chosen.link.config.Name
			}
			require.Equal(t, c.want, got)
		})
	}
}
