package app

import (
	"github.com/millrace-dev/millrace/internal/comfyui/catalogue"
	"github.com/millrace-dev/millrace/internal/domain/server"
)

// catalogue keeps, for editors, the lists that ComfyUI servers offer besides their classes.
func (in *Instance) catalogue() *catalogue.Catalogue {
	return catalogue.New(in.Members, catalogue.Options{Web: in.settings.web, Log: in.log})
}

// Members returns the supported servers.
func (in *Instance) Members() []catalogue.Member {
	var members []catalogue.Member
	for _, s := range in.servers.Servers() {
		if s.Health == server.Unusable {
			continue
		}
		client, _, err := in.servers.Server(s.ID)
		if err != nil { // the server was removed, or its headers cannot be decrypted, which the probe of the server reports
			continue
		}
		members = append(members, catalogue.Member{Address: s.URL, Server: client})
	}
	return members
}

// devices returns the devices of the servers that answer.
func (in *Instance) devices() []server.Device {
	var devices []server.Device
	for _, s := range in.servers.Servers() {
		if s.Health == server.Answers {
			devices = append(devices, s.Devices...)
		}
	}
	return devices
}
