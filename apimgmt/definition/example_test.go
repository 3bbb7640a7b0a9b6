package definition_test

import (
	"context"
	"fmt"

	"github.com/iotenablers/enablers/apimgmt/definition"
)

const weather = `
openapi: 3.0.3
info: {title: Weather, version: "1"}
servers: [{url: https://weather.example/v2}]
x-kong-plugin-oidc: {config: {realm: OpenAPI, client_secret: squirrel}}
paths:
  /stations/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    get: {summary: One station, responses: {"200": {description: fine}}}
`

func ExampleLoad() {
	d, err := definition.Load(context.Background(), []byte(weather), definition.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d.Title(), d.Servers())
	for _, operation := range d.Operations() {
		fmt.Println(operation.Method, operation.Path, operation.Summary, operation.DeclaresSecurity)
	}
	// Output:
	// Weather [https://weather.example/v2]
	// GET /stations/{id} One station false
}

func ExampleConvert() {
	d, err := definition.Load(context.Background(), []byte(weather), definition.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	config, err := definition.Convert(d, definition.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	service, route := config.Services[0], config.Routes[0]
	fmt.Println(service.Name, service.Protocol, service.Host, service.Port, service.Path)
	fmt.Println(route.Name, route.Methods, route.Paths)
	fmt.Println(config.Plugins[0].Name, string(config.Redacted().Plugins[0].Config))
	// Output:
	// weather https weather.example 443 /v2
	// weather_stations-id_get [GET] [~/stations/(?<id>[^#?/]+)$]
	// oidc {"client_secret":"[redacted]","realm":"OpenAPI"}
}
