package definition

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/entity"
)

// TransformerPlugin is the plugin that takes [Options].Path off requests.
const TransformerPlugin = "request-transformer"

// restGroup is the group of a route's expression that has the path after the listen
// path. It has 32 characters, all that PCRE takes and one more than [maxGroup], so that
// no parameter has the same name.
const restGroup = "the_path_after_the_listen_prefix"

// maxListenPath is the greatest length of a listen path.
const maxListenPath = 200

var listenSegment = regexp.MustCompile(`^[A-Za-z0-9._~-]+$`)

// CheckPath returns what is wrong with a listen path, such as /weather or
// /teams/weather. Its segments have letters, digits and "-._~" (the unreserved
// characters of RFC 3986, section 2.3), so that it has one form only.
func CheckPath(path string) error {
	switch {
	case !strings.HasPrefix(path, "/"):
		return fmt.Errorf("the path %q should start with \"/\", such as /weather", shown(path))
	case len(path) > maxListenPath:
		return fmt.Errorf("the path has %d characters, more than %d", len(path), maxListenPath)
	case strings.HasSuffix(path, "/"):
		return fmt.Errorf("the path %q should not end with \"/\"", shown(path))
	}
	for segment := range strings.SplitSeq(path[1:], "/") {
		switch {
		case segment == "":
			return fmt.Errorf("the path %q has an empty segment", shown(path))
		case segment == "." || segment == "..":
			return fmt.Errorf("the path %q has the segment %q", shown(path), segment)
		case !listenSegment.MatchString(segment):
			return fmt.Errorf("the path %q has other characters than letters, digits and \"-._~\" in the segment %q: "+
				"it is a fixed prefix, no template or expression", shown(path), shown(segment))
		}
	}
	return nil
}

// expression is the path of a route for a template below the listen path.
func (c *converter) expression(path template) string { return path.below(c.options.Path) }

// below is the path of a route for a template below a listen path, which may be empty.
func (t template) below(listenPath string) string {
	if listenPath == "" {
		return "~" + t.regex()
	}
	below := strings.TrimSuffix(t.regex(), "$")
	return "~" + regexp.QuoteMeta(listenPath) + "(?<" + restGroup + ">" + below + ")$"
}

// RoutePath is the path of the route to which [Convert] converts an operation's path, below a
// listen path or not. It is empty for what is not a path of a definition.
func RoutePath(path, listenPath string) string {
	parsed, err := parseTemplate(path)
	if err != nil {
		return ""
	}
	return parsed.normal().below(listenPath)
}

// stripped adds to the plugins of a service, or to those of a route, what takes the
// listen path off: a service needs it in any case, a route only if it has a
// request-transformer of its own, which counts in place of the service's. The lists
// are not changed.
func (c *converter) stripped(plugins []*plugin, servicePath string, isService bool) ([]*plugin, error) {
	if c.options.Path == "" {
		return plugins, nil
	}
	made := slices.Clone(plugins)
	i := slices.IndexFunc(made, func(p *plugin) bool { return p.entity.Name == TransformerPlugin })
	switch {
	case i < 0 && !isService, i >= 0 && made[i].disabled() && !isService:
		return made, nil
	case i < 0:
		i, made = len(made), append(made, nil)
		fallthrough
	case made[i].disabled(): // one that does nothing makes room
		made[i] = &plugin{entity: entity.Plugin{
			Meta: entity.Meta{Tags: slices.Clone(c.tags)}, Name: TransformerPlugin, Config: json.RawMessage("{}"),
		}}
	}
	changed, err := c.strip(made[i], servicePath)
	if err != nil {
		return nil, err
	}
	made[i] = changed
	slices.SortFunc(made, func(a, b *plugin) int { return strings.Compare(a.entity.Name, b.entity.Name) })
	return made, nil
}

// strip is a request-transformer that replaces the path as well, unless it does so
// already: then the definition says where requests go.
func (c *converter) strip(p *plugin, servicePath string) (*plugin, error) {
	at := c.root
	if place := c.places[string(entity.KindPlugin)+TransformerPlugin]; place != nil {
		at = place
	}
	if len(p.entity.Protocols) > 0 {
		return nil, at.Errorf("protocols: below a path, a request-transformer is for all protocols: it takes the path off")
	}
	servicePath = strings.TrimRight(servicePath, "/")
	if strings.Contains(servicePath, "$(") {
		return nil, at.Errorf("the path %q of the service cannot stand in a template of request-transformer", shown(servicePath))
	}
	fields, replace := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	err := json.Unmarshal(p.entity.Config, &fields)
	if err == nil && len(fields["replace"]) > 0 {
		err = json.Unmarshal(fields["replace"], &replace)
	}
	if err != nil {
		return nil, at.Errorf("config.replace: an object is needed")
	}
	if uri := string(replace["uri"]); uri != "" && uri != "null" && uri != `""` {
		return p, nil
	}
	if fields == nil {
		fields = map[string]json.RawMessage{}
	}
	if replace == nil {
		replace = map[string]json.RawMessage{}
	}
	uri, uriErr := json.Marshal(servicePath + "$(uri_captures['" + restGroup + "'])")
	replace["uri"] = uri
	whole, replaceErr := json.Marshal(replace)
	fields["replace"] = whole
	config, err := json.Marshal(fields)
	if err := errors.Join(uriErr, replaceErr, err); err != nil {
		return nil, err
	}
	made := &plugin{entity: p.entity}
	made.entity.Config, made.entity.Tags = config, slices.Clone(p.entity.Tags)
	return made, nil
}

// checkListenPath checks the option, and that the gateway has what it needs.
func (c *converter) checkListenPath() error {
	if c.options.Path == "" {
		return nil
	}
	if err := CheckPath(c.options.Path); err != nil {
		return fmt.Errorf("option Path: %w", err)
	}
	if !slices.Contains(c.options.Plugins, TransformerPlugin) {
		return fmt.Errorf("the gateway has no plugin %q, which takes the path %q off requests", TransformerPlugin, c.options.Path)
	}
	return nil
}
