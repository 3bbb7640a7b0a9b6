package entity_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/entity"
)

const nested = `
_format_version: "2.1"
_transform: true
services:
- name: things
  url: https://things.example/base
  routes:
  - name: one
    methods: [GET]
    paths: ["/things/(?<id>[^/]+)$", "/plain-path_1.0"]
    plugins:
    - name: cors
      config: {origins: ["*"]}
  - paths: [/nameless]
    plugins:
    - name: key-auth
  plugins:
  - name: rate-limiting
    config: &limit {minute: 5}
consumers:
- username: ada
  keyauth_credentials:
  - key: open sesame
  plugins:
  - name: rate-limiting
    config: *limit
upstreams:
- name: pool
  targets:
  - target: 10.0.0.1:80
    weight: 0
plugins:
- name: correlation-id
`

func TestReadOfNestedAndOfFlatIsTheSame(t *testing.T) {
	a, err := entity.Read([]byte(nested), entity.Limits{})
	require.NoError(t, err)
	require.Equal(t, []string{"~/things/(?<id>[^/]+)$", "/plain-path_1.0"}, a.Routes[1].Paths)
	require.Equal(t, 0, *a.Targets[0].Weight)
	require.Len(t, a.Plugins, 5)

	b, err := entity.Read([]byte(`{"_format_version":"3.0",
"routes":[{"name":"one","service":"things","methods":["GET"],"paths":["~/things/(?<id>[^/]+)$","/plain-path_1.0"]},
 {"service":{"name":"things"},"paths":["/nameless"],"plugins":[{"name":"key-auth"}]}],
"plugins":[{"name":"cors","route":"one","config":{"origins":["*"]}},{"name":"rate-limiting","service":"things","config":{"minute":5}},
 {"name":"rate-limiting","consumer":"ada","config":{"minute":5}},{"name":"correlation-id","service":null}],
"consumers":[{"username":"ada"}],"keyauth_credentials":[{"key":"open sesame","consumer":"ada"}],
"targets":[{"target":"10.0.0.1:80","weight":0,"upstream":"pool"}],"upstreams":[{"name":"pool"}],
"services":[{"name":"things","protocol":"https","host":"things.example","path":"/base"}]}`), entity.Limits{})
	require.NoError(t, err)
	require.Equal(t, a, b)
}
