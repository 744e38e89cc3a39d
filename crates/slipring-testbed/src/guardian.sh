# Makes a throw-away cluster in $1 with the programs in $2 on the port $3, and does what it is told
# on stdin. When stdin ends, for whatever reason, it ends every server in the folder and removes it.
# With a fourth argument, the folder's `disk` is a file system of its own of that many megabytes.
dir=$1 bin=$2 port=$3

if [ -n "$4" ]; then
    mkdir "$dir/disk"
    mount -t tmpfs -o "size=${4}m" slipring "$dir/disk" || exit 1
fi

fail() {
    echo "failed: $1"
    tail -n 20 "$dir"/*.log >&2
}

printf 'test' >"$dir/password"
"$bin/initdb" -D "$dir/data" -U postgres --no-sync -E UTF8 --locale=C --auth-local=trust \
    --auth-host=scram-sha-256 --pwfile="$dir/password" >"$dir/initdb.log" 2>&1 || fail initdb
cat >>"$dir/data/postgresql.conf" <<SETTINGS
listen_addresses = '127.0.0.1'
port = $port
unix_socket_directories = '$dir'
fsync = off
full_page_writes = off
autovacuum = off
shared_buffers = 64MB
max_connections = 200
max_prepared_transactions = 20
max_locks_per_transaction = 256
max_wal_size = 512MB
SETTINGS

while read -r command; do
    case $command in
    start)
        # After a crash the old backends need a moment to notice.
        tries=0
        until "$bin/pg_ctl" -D "$dir/data" -w -t 60 -l "$dir/server.log" start \
            >"$dir/start.log" 2>&1; do
            tries=$((tries + 1))
            [ "$tries" -lt 30 ] || break
        done
        if "$bin/pg_ctl" -D "$dir/data" status >/dev/null; then echo ok; else fail start; fi
        ;;
    crash)
        pid=$(head -n 1 "$dir/data/postmaster.pid")
        kill -9 "$pid"
        while kill -0 "$pid" 2>/dev/null; do :; done
        echo ok
        ;;
    run)
        # The name of a script in the folder, which may use the variables above.
        read -r script
        if (set -e && . "$dir/$script") >"$dir/$script.log" 2>&1; then
            echo ok
        else
            fail "$script"
        fi
        ;;
    esac
done
for pid in "$dir"/*/postmaster.pid; do
    # One that a test has stopped would not hear.
    kill -CONT "$(head -n 1 "$pid")" 2>/dev/null
    "$bin/pg_ctl" -D "${pid%/*}" -m immediate stop >/dev/null 2>&1
done
rm -rf "$dir" 2>/dev/null
