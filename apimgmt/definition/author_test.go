package definition_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
)

// author writes definitions as people publish them, the same for the same seed.
type author struct {
	*rand.Rand
}

func newAuthor(seed uint64) *author { return &author{rand.New(rand.NewPCG(seed, 8))} }

type object = map[string]any

// chance is true n times of a hundred.
func (a *author) chance(n int) bool { return a.IntN(100) < n }

func (a *author) pick(words ...string) string { return words[a.IntN(len(words))] }

// file writes a whole definition.
func (a *author) file() object {
	file := object{
		"openapi": a.pick("3.0.0", "3.0.3", "3.1.0"),
		"info":    object{"title": a.pick("Petstore", "Resource provisioning", "Things & more") + fmt.Sprint(a.IntN(9)), "version": "1.0"},
		"components": object{
			"x-kong": object{"shared": object{"limit": object{"config": object{"minute": a.IntN(100)}}}},
			"securitySchemes": object{"idm": object{"type": "openIdConnect",
				"openIdConnectUrl":               "https://idm.example/.well-known/openid-configuration",
				"x-kong-security-openid-connect": object{"config": object{"client_id": []string{"kong"}}}}},
		},
	}
	paths := object{}
	for range 1 + a.IntN(8) {
		template, parameters := a.path()
		if !a.overlaps(paths, template) {
			paths[template] = a.item(parameters)
		}
	}
	file["paths"] = paths
	if a.chance(80) {
		file["servers"] = a.servers()
	}
	if a.chance(20) {
		file["x-kong-tags"] = []string{"a", "b"}
	}
	if a.chance(15) && !a.hasOwnServices(paths) {
		file["security"] = []object{{"idm": []string{"read"}}}
	}
	a.extend(file, 30)
	return file
}

// hasOwnServices reports whether a path or an operation has a service of its own: for
// those Kong's converter leaves out what the security of the document demands.
func (a *author) hasOwnServices(paths object) bool {
	for _, item := range paths {
		for key, value := range item.(object) {
			if key == "servers" || key == "x-kong-service-defaults" || key == "x-kong-upstream-defaults" {
				return true
			}
			operation, ok := value.(object)
			if ok && (operation["servers"] != nil || operation["x-kong-service-defaults"] != nil || operation["x-kong-upstream-defaults"] != nil) {
				return true
			}
		}
	}
	return false
}

var anyParameter = regexp.MustCompile(`\{[^}]+\}`)

// overlaps reports whether a path is the same as another one but for names.
func (a *author) overlaps(paths object, template string) bool {
	for other := range paths {
		if anyParameter.ReplaceAllString(other, "{}") == anyParameter.ReplaceAllString(template, "{}") {
			return true
		}
	}
	return false
}

func (a *author) path() (template string, parameters []string) {
	var b strings.Builder
	names := []string{"id", "thing-id", "thingId", "name_2", "user.name"}
	a.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	parameter := func() string {
		name := names[len(parameters)]
		parameters = append(parameters, name)
		return "{" + name + "}"
	}
	for range 1 + a.IntN(4) {
		b.WriteByte('/')
		switch {
		case a.chance(30) && len(parameters) < 3:
			b.WriteString(parameter())
		case a.chance(10) && len(parameters) < 3:
			b.WriteString(a.pick("report", "at:", "v1.") + parameter() + a.pick(".json", "(x)", "+x", ""))
		default:
			b.WriteString(a.pick("things", "mine", "users", "v1.2", "a-b", "x_y", "~me", "c++", "$all", "(old)", "a*b"))
		}
	}
	if a.chance(10) {
		b.WriteByte('/')
	}
	return b.String(), parameters
}

func (a *author) item(parameters []string) object {
	item := object{}
	var list []object
	for _, name := range parameters {
		list = append(list, object{"name": name, "in": "path", "required": true, "schema": object{"type": "string", "pattern": "^[a-z]+$"}})
	}
	if list != nil {
		item["parameters"] = list
	}
	for _, method := range []string{"get", "put", "post", "delete", "patch", "head", "options"} {
		if a.chance(35) || method == "get" {
			operation := object{"responses": object{"200": object{"description": "fine"}}}
			if a.chance(30) {
				operation["operationId"] = fmt.Sprintf("operation%d", a.IntN(1<<30))
			}
			if a.chance(8) {
				operation["servers"] = a.servers()
			}
			a.extend(operation, 12)
			item[method] = operation
		}
	}
	if a.chance(10) {
		item["servers"] = a.servers()
	}
	a.extend(item, 15)
	return item
}

// servers are alike but for their hosts: of others Kong's converter makes targets
// that the service cannot reach.
func (a *author) servers() []object {
	scheme, base := a.pick("http", "https"), a.pick("", "/", "/v1", "/api/v2/")
	var list []object
	for i := range 1 + a.IntN(3) {
		host := fmt.Sprintf("host%d-%d.example", a.IntN(1000), i)
		server := object{"url": scheme + "://" + host + a.pick("", ":8080", ":8443") + base}
		if a.chance(30) {
			server["url"] = "{scheme}://{zone}." + host + ":{port}" + base
			server["variables"] = object{"scheme": object{"default": scheme}, "zone": object{"default": "eu", "enum": []string{"us", "eu"}},
				"port": object{"default": fmt.Sprint(8000 + a.IntN(1000))}}
		}
		list = append(list, server)
	}
	return list
}

// extend adds extensions of Kong, each with a chance.
func (a *author) extend(n object, percent int) {
	if a.chance(percent) {
		n["x-kong-plugin-oidc"] = object{"name": "oidc", "enabled": true,
			"config": object{"client_id": "kong", "client_secret": fmt.Sprint(a.IntN(1000)), "bearer_only": "yes"}}
	}
	if a.chance(percent) {
		n["x-kong-plugin-cors"] = object{"config": object{"origins": []string{a.pick("*", "https://a.example")}, "max_age": a.IntN(1000)}}
	}
	if a.chance(percent) {
		n["x-kong-plugin-rate-limiting"] = object{"$ref": "#/components/x-kong/shared/limit"}
	}
	if a.chance(percent / 3) {
		n["x-kong-name"] = fmt.Sprintf("name %d", a.IntN(1<<30))
	}
	if a.chance(percent / 3) {
		n["x-kong-service-defaults"] = object{"retries": a.IntN(10)}
	}
	if a.chance(percent / 3) {
		n["x-kong-route-defaults"] = object{"regex_priority": 10 + a.IntN(10), "preserve_host": a.chance(50)}
	}
	if a.chance(percent / 4) {
		n["x-kong-upstream-defaults"] = object{"algorithm": "least-connections"}
	}
}
