module slipring/clients

go 1.19

require github.com/beanstalkd/go-beanstalk v0.2.0
