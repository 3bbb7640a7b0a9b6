package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"runtime/pprof"
	"time"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/apimgmt/gateway/plugin"
)

// serve is our gateway as a process: the program calls itself with it.
func serve(ctx context.Context, args []string) (err error) {
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	listen := flags.String("listen", "", "`address` to listen on")
	backend := flags.String("backend", "", "`URL` of the service")
	routes := flags.Int("routes", 1, "how many routes there are")
	discovery := flags.String("discovery", "", "`URL` of the issuer whose tokens are asked for; none by default")
	profile := flags.String("profile", "", "`file` for a profile of the processor time")
	if err := flags.Parse(args); err != nil {
		return err
	}
	config, err := gatewayConfig(*backend, *routes, *discovery)
	if err != nil {
		return err
	}
	g, err := gateway.New(&gateway.Options{Kinds: plugin.Kinds(), AllowUpstreams: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	if err := g.Apply(config); err != nil {
		return err
	}
	if *profile != "" {
		file, err := os.Create(*profile)
		if err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(file); err != nil {
			return err
		}
		defer func() {
			pprof.StopCPUProfile()
			_ = file.Close()
		}()
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: g, ReadHeaderTimeout: time.Minute}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// routePath is the path of a route's template, with something for its parameter.
func routePath(route int, parameter string) string {
	return fmt.Sprintf("/api/things%d/%s/temperature", route, parameter)
}

// gatewayConfig is one service with a number of routes, as the converter of API definitions makes them.
func gatewayConfig(backend string, routes int, discovery string) (entity.Config, error) {
	address, err := url.Parse(backend)
	if err != nil {
		return entity.Config{}, err
	}
	service := entity.Service{Name: "bench"}
	if err := service.SetURL(address.String()); err != nil {
		return entity.Config{}, err
	}
	keep := false
	config := entity.Config{Services: []entity.Service{service}}
	for i := range routes {
		config.Routes = append(config.Routes, entity.Route{Name: fmt.Sprintf("r%d", i), Methods: []string{"GET"},
			StripPath: &keep,
			Paths:     []string{"~" + routePath(i, "(?<id>[^#?/]+)") + "$"}, Service: &entity.Ref{Name: "bench"}})
	}
	if discovery != "" {
		settings, err := json.Marshal(map[string]string{"discovery": discovery, "client_id": "kong", "bearer_only": "yes"})
		if err != nil {
			return entity.Config{}, err
		}
		config.Plugins = []entity.Plugin{{Name: "oidc", Config: settings, Service: &entity.Ref{Name: "bench"}}}
	}
	return config, nil
}
