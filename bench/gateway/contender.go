package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/iotenablers/enablers/bench/internal/rig"
	"github.com/iotenablers/enablers/internal/peertest"
)

// contender is a gateway that is measured.
type contender struct {
	name, how string
	verifies  bool // refuses requests without a token
	// command is how it is started: files are written into the folder.
	command func(s setting, listen string) ([]string, error)
}

// setting is what a contender serves.
type setting struct {
	folder  string
	backend string // HOST:PORT
	routes  int
	issuer  *issuer
}

// running is a contender that serves.
type running struct {
	contender
	process *rig.Process
	address string
}

// contenders builds the programs.
func contenders(ctx context.Context, folder string) ([]contender, error) {
	if err := os.Setenv(peertest.RequirePeers, "1"); err != nil { // so that the peers are built
		return nil, err
	}
	ours := filepath.Join(folder, "gateway")
	build := exec.CommandContext(ctx, "go", "build", "-C", "bench", "-buildvcs=false", "-o", ours, "./gateway")
	if said, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build our gateway: %w: %s", err, said)
	}
	caddy, err := peertest.Peer{
		Module: "bench/gateway/caddy", Package: "github.com/caddyserver/caddy/v2/cmd/caddy", Name: "caddy",
	}.Program(ctx)
	if err != nil {
		return nil, err
	}
	krakend, err := peertest.Peer{Module: "bench/gateway/krakend", Package: ".", Name: "krakend"}.Program(ctx)
	if err != nil {
		return nil, err
	}
	own := func(verifies bool) func(setting, string) ([]string, error) {
		return func(s setting, listen string) ([]string, error) {
			command := []string{ours, "serve", "-listen", listen, "-backend", "http://" + s.backend, "-routes", strconv.Itoa(s.routes)}
			if verifies {
				command = append(command, "-discovery", s.issuer.discovery())
			}
			return command, nil
		}
	}
	engine := func(verifies bool) func(setting, string) ([]string, error) {
		return func(s setting, listen string) ([]string, error) {
			command := []string{krakend, "-listen", listen, "-backend", "http://" + s.backend, "-routes", strconv.Itoa(s.routes)}
			if verifies {
				command = append(command, "-keys", s.issuer.url+"/certs")
			}
			return command, nil
		}
	}
	return []contender{
		{"ours, RS256", "`apimgmt/gateway` with the plugin `oidc`", true, own(true)},
		{"ours", "`apimgmt/gateway` without plugins", false, own(false)},
		{"nginx", "`proxy_pass` with 512 kept connections, one worker for each core, no access log", false, nginx},
		{"Caddy", "`reverse_proxy`, default settings, no access log", false, caddyfile(caddy)},
		{"KrakenD's engine, RS256", "lura v2.9.0 with krakend-jose v2.7.0, `no-op` endpoints, keys cached, default settings", true, engine(true)},
		{"KrakenD's engine", "lura v2.9.0, `no-op` endpoints, default settings", false, engine(false)},
	}, nil
}

// end asks a contender to end, and waits: the workers of an nginx that is killed
// would stay.
func (r *running) end() {
	if p, err := os.FindProcess(r.process.ID()); err == nil && p.Signal(syscall.SIGTERM) == nil {
		_, _ = r.process.Rest() // what it says at its end does not matter
	}
	r.process.End()
}

// startBackend starts the service behind all of them.
func startBackend(ctx context.Context, folder string) (*running, error) {
	c := contender{name: "backend", command: func(s setting, listen string) ([]string, error) {
		return nginxWith(s, fmt.Sprintf("server { listen %s; location / { default_type application/json; return 200 '%s'; } }", listen, answer))
	}}
	return c.start(ctx, setting{folder: folder})
}

// answer is what the service says.
const answer = `{"temperature":21,"ok":true}`

func nginx(s setting, listen string) ([]string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "upstream service { server %s; keepalive 512; keepalive_requests 1000000; }\n"+
		"server { listen %s; keepalive_requests 1000000;\n", s.backend, listen)
	for i := range s.routes {
		fmt.Fprintf(&b, "location ~ \"^%s$\" { proxy_pass http://service; proxy_http_version 1.1; "+
			"proxy_set_header Connection \"\"; }\n", routePath(i, "[^/]+"))
	}
	b.WriteString("}\n")
	return nginxWith(s, b.String())
}

// nginxWith writes a configuration of nginx.
func nginxWith(s setting, servers string) ([]string, error) {
	if err := os.MkdirAll(s.folder, 0o700); err != nil {
		return nil, err
	}
	file := filepath.Join(s.folder, "nginx.conf")
	text := "daemon off; worker_processes auto; pid " + s.folder + "/nginx.pid; error_log " + s.folder + "/error.log;\n" +
		"events { worker_connections 8192; }\n" +
		"http { access_log off; keepalive_requests 1000000;\n"
	for _, name := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		text += name + "_temp_path " + filepath.Join(s.folder, name) + ";\n"
	}
	return []string{"nginx", "-e", s.folder + "/error.log", "-p", s.folder, "-c", file}, os.WriteFile(file, []byte(text+servers+"}\n"), 0o600)
}

func caddyfile(program string) func(setting, string) ([]string, error) {
	return func(s setting, listen string) ([]string, error) {
		if err := os.MkdirAll(s.folder, 0o700); err != nil {
			return nil, err
		}
		var b strings.Builder
		fmt.Fprintf(&b, "{\n\tadmin off\n\tauto_https off\n\tpersist_config off\n\tlog {\n\t\tlevel ERROR\n\t}\n}\nhttp://%s {\n", listen)
		for i := range s.routes {
			fmt.Fprintf(&b, "\t@r%d path %s\n\treverse_proxy @r%d %s\n", i, routePath(i, "*"), i, s.backend)
		}
		b.WriteString("}\n")
		file := filepath.Join(s.folder, "Caddyfile")
		return []string{program, "run", "--config", file, "--adapter", "caddyfile"}, os.WriteFile(file, []byte(b.String()), 0o600)
	}
}

// start starts a contender and waits until it answers.
func (c contender) start(ctx context.Context, s setting) (*running, error) {
	address, err := rig.FreeAddress()
	if err != nil {
		return nil, err
	}
	command, err := c.command(s, address)
	if err != nil {
		return nil, err
	}
	env := []string{"HOME=" + s.folder, "XDG_DATA_HOME=" + s.folder, "XDG_CONFIG_HOME=" + s.folder}
	p, err := rig.Start(ctx, s.folder, env, command[0], command[1:]...)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, rig.Patience)
	defer cancel()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+routePath(0, "1"), nil)
		if err != nil {
			p.End()
			return nil, err
		}
		answer, err := http.DefaultClient.Do(request)
		if err == nil {
			_ = answer.Body.Close()
			return &running{c, p, address}, nil
		}
		select {
		case <-ctx.Done():
			err := p.Failure(ctx.Err())
			p.End()
			return nil, fmt.Errorf("%s: %w", c.name, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
