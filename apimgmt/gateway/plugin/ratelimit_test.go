package plugin_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugin"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugintest"
)

func ExampleRateLimiting() {
	_, err := plugin.RateLimiting().Compile(gateway.Setup{Config: []byte(`{"minute":100,"hour":60}`)})
	fmt.Println(err)
	// Output: config.hour: 60 is less than the 100 for a minute
}

func rateLimitingSubject() plugintest.Subject {
	return plugintest.Subject{
		Kind: plugin.RateLimiting(), Config: consumers(), Others: []gateway.Kind{plugin.KeyAuth()},
		Valid: []string{
			`{"year":5}`, `{"second":5,"minute":null,"hour":10000,"policy":"local","limit_by":"ip","fault_tolerant":false,"hide_client_headers":true,
				"redis":{"host":null},"redis_port":6379,"sync_rate":-1,"error_code":503,"error_message":"slow down"}`,
			`{"minute":5,"limit_by":"header","header_name":"X-Tenant"}`, `{"minute":5,"limit_by":"path","path":"/x"}`,
		},
		Invalid: map[string]string{
			`{}`: "config.minute", `{"minute":0}`: "config.minute", `{"minute":-1}`: "config.minute", `{"minute":1.5}`: "config.minute",
			`{"second":5,"minute":4}`: "config.minute", `{"minute":1,"policy":"redis"}`: "config.policy",
			`{"minute":1,"policy":"cluster"}`:  "config.policy",
			`{"minute":1,"limit_by":"x"}`:      "config.limit_by",
			`{"minute":1,"limit_by":"header"}`: "config.header_name", `{"minute":1,"limit_by":"path"}`: "config.path",
			`{"minute":1,"error_code":200}`: "config.error_code",
		},
	}
}

func TestRateLimiting_isExactForConcurrentRequests(t *testing.T) {
	s := stage(t, "rate-limiting", `{"year":50,"limit_by":"ip"}`)
	var all sync.WaitGroup
	var passed, refused atomic.Int32
	for range 8 {
		all.Go(func() {
			for range 20 {
				response, err := http.Get(s.URL)
				if err != nil {
					continue
				}
				_ = response.Body.Close()
				switch response.StatusCode {
				case http.StatusOK:
					passed.Add(1)
				case http.StatusTooManyRequests:
					refused.Add(1)
				}
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 50, passed.Load())
	require.EqualValues(t, 110, refused.Load())
}

func TestRateLimiting_showsTheRemainder(t *testing.T) {
	s := stage(t, "rate-limiting", `{"month":2,"year":2}`)
	a := s.Do(http.MethodGet, "/", "")
	require.Equal(t, "2", a.Header.Get("X-RateLimit-Limit-Month"))
	require.Equal(t, "1", a.Header.Get("X-RateLimit-Remaining-Year"))
	require.Equal(t, "2", a.Header.Get("RateLimit-Limit"))
	require.Equal(t, "1", a.Header.Get("RateLimit-Remaining"))
	require.NotEmpty(t, a.Header.Get("RateLimit-Reset"))
	require.Empty(t, a.Header.Get("Retry-After"))
	s.Do(http.MethodGet, "/", "")
	a = s.Do(http.MethodGet, "/", "")
	require.Equal(t, http.StatusTooManyRequests, a.Status)
	require.JSONEq(t, `{"message":"API rate limit exceeded"}`, a.Body)
	require.Equal(t, "0", a.Header.Get("RateLimit-Remaining"))
	require.NotEmpty(t, a.Header.Get("Retry-After"))

	s = stage(t, "rate-limiting", `{"year":1,"hide_client_headers":true,"error_code":503,"error_message":"slow down"}`)
	for _, status := range []int{http.StatusOK, http.StatusServiceUnavailable} {
		a = s.Do(http.MethodGet, "/", "")
		require.Equal(t, status, a.Status)
		for name := range a.Header {
			require.NotContains(t, strings.ToLower(name), "ratelimit")
			require.NotEqual(t, "Retry-After", name)
		}
	}
	require.JSONEq(t, `{"message":"slow down"}`, a.Body)
}

func TestRateLimiting_countsEachCaller(t *testing.T) {
	with := func(limitBy string) func(...string) int {
		config := `{"year":1,"limit_by":"` + limitBy + `","header_name":"X-Tenant","path":"/one"}`
		s := plugintest.NewStage(t, plugintest.Options{Kinds: plugin.Kinds(), Config: consumers(), Plugins: []entity.Plugin{
			{Name: "key-auth", Config: []byte(`{"anonymous":"guest"}`)}, {Name: "rate-limiting", Config: []byte(config)},
		}})
		return func(request ...string) int { return s.Do(http.MethodGet, request[0], "", request[1:]...).Status }
	}
	const ok, stop = http.StatusOK, http.StatusTooManyRequests
	do := with("consumer")
	require.Equal(t, []int{ok, ok, stop}, []int{do("/", "apikey: key-of-ada"), do("/"), do("/", "apikey: second-key-of-ada")})
	do = with("credential")
	require.Equal(t, []int{ok, ok, stop}, []int{do("/", "apikey: key-of-ada"), do("/", "apikey: second-key-of-ada"),
		do("/", "apikey: key-of-ada")})
	do = with("header")
	require.Equal(t, []int{ok, ok, stop, ok, stop},
		[]int{do("/", "X-Tenant: a"), do("/", "X-Tenant: b"), do("/", "X-Tenant: a"), do("/"), do("/")})
	do = with("service")
	require.Equal(t, []int{ok, stop}, []int{do("/", "apikey: key-of-ada"), do("/x")})
	do = with("path")
	require.Equal(t, []int{ok, ok, stop}, []int{do("/one"), do("/two"), do("/one")})
}
