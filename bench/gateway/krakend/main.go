// Command krakend is the engine of KrakenD (lura) with its plugin for tokens
// (krakend-jose), assembled for a benchmark: one backend, a number of endpoints
// that pass answers on as they are.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	krakendjose "github.com/krakendio/krakend-jose/v2"
	josegin "github.com/krakendio/krakend-jose/v2/gin"
	"github.com/luraproject/lura/v2/config"
	"github.com/luraproject/lura/v2/logging"
	"github.com/luraproject/lura/v2/proxy"
	ginlura "github.com/luraproject/lura/v2/router/gin"
	"github.com/luraproject/lura/v2/transport/http/server"
)

func main() {
	listen := flag.String("listen", "", "`address` to listen on")
	backend := flag.String("backend", "", "`URL` of the service")
	routes := flag.Int("routes", 1, "how many endpoints there are")
	keys := flag.String("keys", "", "`URL` of the keys that tokens are verified with; none by default")
	flag.Parse()
	if err := run(*listen, *backend, *routes, *keys); err != nil {
		log.Fatal(err)
	}
}

func run(listen, backend string, routes int, keys string) error {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	settings := config.ServiceConfig{Version: config.ConfigVersion, Name: "bench", Address: host, Port: number, Timeout: 30 * time.Second, Host: []string{backend}}
	for i := range routes {
		path := fmt.Sprintf("/api/things%d/{id}/temperature", i)
		endpoint := &config.EndpointConfig{Endpoint: path, Method: "GET", OutputEncoding: "no-op",
			Backend: []*config.Backend{{URLPattern: path, Method: "GET", Encoding: "no-op"}}}
		if keys != "" {
			endpoint.ExtraConfig = config.ExtraConfig{krakendjose.ValidatorNamespace: map[string]any{
				"alg": "RS256", "jwk_url": keys, "disable_jwk_security": true, "cache": true, "cache_duration": 3600,
			}}
		}
		settings.Endpoints = append(settings.Endpoints, endpoint)
	}
	if err := settings.Init(); err != nil {
		return err
	}
	gin.SetMode(gin.ReleaseMode)
	server.InitHTTPDefaultTransport(settings)
	handlers := ginlura.EndpointHandler
	if keys != "" {
		handlers = josegin.HandlerFactory(handlers, logging.NoOp, krakendjose.ChainedRejecterFactory{})
	}
	ginlura.NewFactory(ginlura.Config{
		Engine: gin.New(), HandlerFactory: handlers, ProxyFactory: proxy.DefaultFactory(logging.NoOp), Logger: logging.NoOp, RunServer: server.RunServer,
	}).NewWithContext(context.Background()).Run(settings)
	return nil
}
