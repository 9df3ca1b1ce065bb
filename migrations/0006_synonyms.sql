-- Words that count for each other, in Chinese and English: software operations, preferences and
-- everyday settings. A pair is one row and works both ways. 0.7 is the score of a synonym in D2
-- 3.3.1; 0.9 is another spelling of the same word.

CREATE TABLE expansion (
    lead int NOT NULL,
    form int NOT NULL,
    need int NOT NULL,
    added int NOT NULL,
    similarity float8 NOT NULL,
    share float8 NOT NULL,
    size int NOT NULL,
    needs int[],
    spellings text[] NOT NULL,
    PRIMARY KEY (lead, form, need, added)
);
COMMENT ON TABLE expansion IS
    'Table synonym in both directions as terms, a row for each term of a word and each term that a '
    'form of it adds. Kept by trigger: do not write.';
COMMENT ON COLUMN expansion.lead IS
    'The term a question looks here with: one of those of the word. need: another, or the same.';
COMMENT ON COLUMN expansion.form IS 'Number of the pair of word and form.';
COMMENT ON COLUMN expansion.share IS
    'What the added term counts for the needed one: similarity / number of terms of the form.';
COMMENT ON COLUMN expansion.size IS 'How many terms the form adds.';
COMMENT ON COLUMN expansion.spellings IS 'The form as table synonym writes it: fail, failed.';
COMMENT ON COLUMN expansion.needs IS
    'The terms of a word of several: the question must have them all. NULL: need is the word.';

-- Another spelling, abbreviation or translation of the same thing.
INSERT INTO synonym (term, synonym, similarity)
SELECT least(a.word, b.word COLLATE "C"), greatest(a.word, b.word COLLATE "C"), 0.9
FROM (VALUES
    ('{k8s,kubernetes}'::text[]), ('{db,database,数据库}'), ('{postgres,postgresql,pg}'),
    ('{repo,repository,仓库,代码库}'), ('{config,configuration,configure,配置}'),
    ('{env,environment,环境}'), ('{perf,performance,性能}'), ('{auth,authentication,认证}'),
    ('{authorization,authorisation,授权}'), ('{dev,development,开发环境}'),
    ('{prod,production,生产环境}'), ('{doc,documentation,文档}'), ('{info,information,信息}'),
    ('{app,application,应用}'), ('{admin,administrator,管理员}'), ('{param,parameter,参数}'),
    ('{arg,argument}'), ('{dir,directory,目录}'), ('{js,javascript}'), ('{ts,typescript}'),
    ('{py,python}'), ('{golang,go语言}'), ('{mem,memory,内存}'), ('{msg,message,消息}'),
    ('{req,request,请求}'), ('{resp,response,响应}'), ('{lib,library}'),
    ('{dependency,deps,依赖}'), ('{vm,virtual machine,虚拟机}'), ('{ui,user interface,用户界面}'),
    ('{mq,message queue,消息队列}'), ('{lb,load balancer,负载均衡}'), ('{fs,file system,文件系统}'),
    ('{os,operating system,操作系统}'), ('{cert,certificate,证书}'),
    ('{pwd,password,passwd,密码,口令}'), ('{id,identifier}'), ('{spec,specification,规范}'),
    ('{temp,temporary,临时}'), ('{max,maximum,最大}'), ('{min,minimum,最小}'),
    ('{pr,pull request,合并请求,merge request}'), ('{ci,continuous integration,持续集成}'),
    ('{cd,continuous delivery,continuous deployment,持续部署}'), ('{oom,内存溢出}'),
    ('{ml,machine learning,机器学习}'), ('{ai,artificial intelligence,人工智能}'),
    ('{llm,large language model,大模型,大语言模型}'), ('{sms,text message,短信}'),
    ('{tz,timezone,time zone,时区}'), ('{dark mode,dark theme,深色模式,深色主题,暗色}'),
    ('{login,登录,登陆}'), ('{logout,登出,退出登录}'),
    ('{signup,register,registration,注册}'), ('{email,mail,邮件,邮箱}'),
    ('{wifi,无线网络}'), ('{cpu,processor,处理器}'), ('{gpu,显卡}'), ('{disk,磁盘,硬盘}'),
    ('{docker,容器,container}'), ('{microservice,微服务}'), ('{frontend,front end,前端}'),
    ('{backend,back end,后端}'), ('{failover,故障转移}'), ('{rollback,回滚}'),
    ('{first,1st}'), ('{second,2nd}'), ('{third,3rd}'), ('{fourth,4th}'), ('{fifth,5th}')
) AS same (words), unnest(words) WITH ORDINALITY AS a (word, place),
     unnest(words) WITH ORDINALITY AS b (word, place)
WHERE a.place < b.place
ON CONFLICT DO NOTHING;

-- Words with one meaning.
INSERT INTO synonym (term, synonym, similarity)
SELECT least(a.word, b.word COLLATE "C"), greatest(a.word, b.word COLLATE "C"), 0.7
FROM (VALUES
    -- What goes wrong.
    ('{失败,failure,fail,failed,error,报错}'::text[]), ('{错误,error,mistake,报错}'),
    ('{异常,exception,error,abnormal}'), ('{崩溃,crash,宕机,outage}'),
    ('{故障,outage,fault,failure,incident,事故}'), ('{超时,timeout}'),
    ('{泄漏,泄露,leak}'), ('{缺陷,bug,defect}'), ('{卡顿,lag,slow}'), ('{慢,slow,latency,延迟}'),
    ('{延迟,latency,delay}'), ('{瓶颈,bottleneck}'), ('{死锁,deadlock}'), ('{冲突,conflict}'),
    ('{丢失,lost,loss,missing}'), ('{重复,duplicate,repeated}'), ('{过期,expired,expiry,expire}'),
    ('{拒绝,refused,denied,reject,deny}'), ('{中断,interrupted,interruption,outage}'),
    ('{损坏,corrupt,corrupted,corruption,broken}'), ('{无效,invalid}'), ('{漏洞,vulnerability}'),
    ('{攻击,attack}'), ('{告警,警报,报警,alert,alarm}'), ('{警告,warning}'),
    ('{排查,troubleshoot,debug,调试,diagnose}'), ('{原因,cause,reason,根因,root cause}'),
    ('{修复,fix,fixed,repair,解决,resolve,solve}'), ('{重试,retry}'), ('{重启,restart,reboot}'),
    ('{恢复,restore,recovery,recover,还原}'), ('{备份,backup}'),
    -- Software and its operation.
    ('{部署,deploy,deployment,release,上线,发布}'), ('{发布,release,publish}'),
    ('{升级,upgrade,update}'), ('{更新,update}'), ('{迁移,migration,migrate}'),
    ('{安装,install,installation,setup}'), ('{卸载,uninstall,remove}'), ('{启动,start,startup,boot}'),
    ('{停止,stop,shutdown,关闭}'), ('{运行,run,running}'), ('{执行,execute,execution,run}'),
    ('{构建,build,编译,compile}'), ('{测试,test,testing}'), ('{单元测试,unit test}'),
    ('{代码,code,源码,source code}'), ('{代码审查,code review,评审,review}'),
    ('{分支,branch}'), ('{提交,commit,submit}'), ('{合并,merge}'), ('{版本,version}'),
    ('{函数,function}'), ('{方法,method}'), ('{变量,variable}'), ('{接口,interface,api}'),
    ('{脚本,script}'), ('{命令,command}'), ('{终端,terminal,shell,命令行,command line}'),
    ('{框架,framework}'), ('{插件,plugin,extension,扩展}'), ('{模块,module}'),
    ('{组件,component}'), ('{架构,architecture}'), ('{需求,requirement}'), ('{功能,feature}'),
    ('{项目,project}'), ('{任务,task,job}'), ('{定时任务,cron,scheduled job,scheduled task}'),
    ('{流水线,pipeline}'), ('{镜像,image,mirror}'), ('{集群,cluster}'), ('{节点,node}'),
    ('{服务器,server,主机,host}'), ('{服务,service}'), ('{客户端,client}'), ('{进程,process}'),
    ('{线程,thread}'), ('{队列,queue}'), ('{缓存,cache,caching}'), ('{索引,index}'),
    ('{查询,query}'), ('{搜索,检索,search}'), ('{表结构,schema}'), ('{事务,transaction}'),
    ('{主键,primary key}'), ('{字段,field,column}'), ('{数据,data}'), ('{连接,connection,connect}'),
    ('{连接池,connection pool}'), ('{主从,replica,replication,副本,复制}'),
    ('{分区,partition}'), ('{分片,shard,sharding}'), ('{存储,storage,store}'),
    ('{空间不足,disk full}'), ('{网络,network}'), ('{端口,port}'), ('{域名,domain}'),
    ('{防火墙,firewall}'), ('{代理,proxy}'), ('{网关,gateway}'), ('{流量,traffic}'),
    ('{并发,concurrency,concurrent}'), ('{吞吐量,throughput}'), ('{扩容,scale,scaling}'),
    ('{限流,rate limit,throttle,throttling}'), ('{日志,log,logging}'),
    ('{监控,monitoring,monitor}'), ('{指标,metric}'), ('{仪表盘,dashboard,看板}'),
    ('{认证,身份验证,authentication,auth,login,登录}'),
    ('{权限,permission,access,access control,privilege}'), ('{令牌,token}'),
    ('{密钥,secret,key,api key}'), ('{加密,encrypt,encryption}'), ('{安全,security,secure}'),
    ('{账号,账户,account}'), ('{用户,user}'), ('{会话,session}'), ('{优化,optimize,optimization}'),
    ('{删除,delete,remove}'), ('{清理,clean,cleanup,清除}'), ('{上传,upload}'), ('{下载,download}'),
    ('{文件,file}'), ('{文件夹,folder,directory}'), ('{路径,path}'), ('{格式,format,formatting}'),
    ('{缩进,indent,indentation}'), ('{注释,comment}'), ('{命名,naming}'), ('{模型,model}'),
    ('{向量,vector,embedding}'), ('{训练,training,train}'), ('{提示词,prompt}'),
    ('{默认,default}'), ('{设置,setting,settings,preferences}'), ('{选项,option}'),
    ('{开关,switch,toggle}'), ('{启用,enable,开启}'), ('{禁用,disable,disabled}'),
    ('{支付,付款,payment,pay}'), ('{订单,order}'), ('{账单,bill,billing,invoice,发票}'),
    ('{成本,cost,费用}'), ('{截止日期,deadline,due date}'), ('{计划,plan}'),
    ('{日程,schedule,calendar,日历}'), ('{提醒,remind,reminder}'), ('{通知,notification,notify}'),
    ('{值班,oncall}'), ('{团队,team}'), ('{同事,colleague,coworker}'),
    ('{老板,boss,manager,经理,主管}'), ('{客户,customer}'),
    -- Chinese everyday words.
    ('{妻子,老婆,太太}'), ('{丈夫,老公}'), ('{妈妈,母亲}'), ('{爸爸,父亲}'), ('{孩子,小孩}'),
    ('{女朋友,女友}'), ('{男朋友,男友}'), ('{名字,姓名}'), ('{地址,住址}'), ('{住在,居住}'),
    ('{电话,手机}'), ('{电脑,计算机}'), ('{屏幕,显示器}'), ('{图片,照片}'), ('{早餐,早饭}'),
    ('{午餐,午饭}'), ('{晚餐,晚饭}'), ('{餐厅,餐馆,饭店}'), ('{酒店,宾馆}'), ('{旅行,旅游}'),
    ('{偏好,喜好}'), ('{喜欢,喜爱}'), ('{讨厌,不喜欢}'), ('{锻炼,健身}'), ('{睡觉,睡眠}'),
    ('{工资,薪水}'), ('{职位,岗位}'), ('{假期,休假}'), ('{会议,开会}'), ('{周会,例会}'),
    ('{回答,答复}'), ('{简洁,简短}'), ('{小狗,狗狗}'), ('{小猫,猫咪}'), ('{房租,租金}'),
    ('{中文,汉语}'), ('{英文,英语}'), ('{每天,每日}'), ('{星期一,周一,礼拜一}'),
    ('{星期二,周二,礼拜二}'), ('{星期三,周三,礼拜三}'), ('{星期四,周四,礼拜四}'),
    ('{星期五,周五,礼拜五}'), ('{星期六,周六,礼拜六}'), ('{星期日,星期天,周日,礼拜天}')
) AS alike (words), unnest(words) WITH ORDINALITY AS a (word, place),
     unnest(words) WITH ORDINALITY AS b (word, place)
WHERE a.place < b.place
ON CONFLICT DO NOTHING;

-- Everyday words only across languages: the English ones differ too much from each other.
INSERT INTO synonym (term, synonym, similarity)
SELECT least(chinese, english COLLATE "C"), greatest(chinese, english COLLATE "C"), 0.7
FROM (VALUES
    ('{偏好,喜好,习惯}'::text[], '{preference,prefer,like,habit}'::text[]),
    ('{喜欢,喜爱,最爱}', '{like,love,prefer,favorite,favourite,enjoy}'),
    ('{讨厌,不喜欢,反感}', '{dislike,hate}'), ('{习惯,常用}', '{usually,habit}'),
    ('{语言,中文,英文}', '{language}'), ('{中文,汉语,普通话}', '{chinese,mandarin}'),
    ('{英文,英语}', '{english}'), ('{主题}', '{theme,topic,subject}'),
    ('{深色,黑色}', '{dark,black}'), ('{浅色,白色}', '{light,white}'), ('{颜色}', '{color,colour}'),
    ('{字体}', '{font}'), ('{字号}', '{font size}'), ('{屏幕,显示器}', '{screen,monitor,display}'),
    ('{键盘}', '{keyboard}'), ('{快捷键}', '{shortcut,hotkey}'), ('{编辑器}', '{editor,ide}'),
    ('{浏览器}', '{browser}'), ('{手机}', '{phone,mobile}'), ('{电脑}', '{computer,laptop}'),
    ('{笔记本}', '{laptop,notebook}'), ('{电话}', '{phone,call}'), ('{联系}', '{contact,reach}'),
    ('{咖啡}', '{coffee}'), ('{早餐,早饭}', '{breakfast}'), ('{午餐,午饭}', '{lunch}'),
    ('{晚餐,晚饭}', '{dinner}'), ('{食物,饮食,吃}', '{food,eat,diet}'), ('{素食,吃素}', '{vegetarian,vegan}'),
    ('{过敏}', '{allergy,allergic}'), ('{花生}', '{peanut}'), ('{海鲜}', '{seafood,shellfish}'),
    ('{牛奶,乳制品}', '{milk,dairy}'), ('{辛辣,吃辣}', '{spicy}'), ('{音乐}', '{music}'),
    ('{电影}', '{movie,film}'), ('{读书,阅读,书籍}', '{book,read,reading}'),
    ('{运动,锻炼,健身}', '{sport,exercise,workout,gym}'), ('{跑步}', '{run,running,jogging}'),
    ('{游泳}', '{swim,swimming}'), ('{旅行,旅游,出差}', '{travel,trip}'), ('{出差}', '{business trip}'),
    ('{酒店,宾馆}', '{hotel}'), ('{航班,飞机}', '{flight,plane}'), ('{座位}', '{seat}'),
    ('{靠窗}', '{window seat,window}'), ('{火车,高铁}', '{train}'), ('{地址,住址}', '{address}'),
    ('{城市}', '{city}'), ('{住在,居住}', '{live,lives}'), ('{家人,家庭}', '{family}'),
    ('{妻子,老婆,太太}', '{wife}'), ('{丈夫,老公}', '{husband}'), ('{孩子,小孩}', '{child,kid,children}'),
    ('{女儿}', '{daughter}'), ('{儿子}', '{son}'), ('{父母}', '{parent}'), ('{朋友}', '{friend}'),
    ('{宠物}', '{pet}'), ('{生日}', '{birthday}'), ('{名字,姓名}', '{name}'),
    ('{会议,开会}', '{meeting}'), ('{周会,例会}', '{weekly meeting,standup}'),
    ('{早上,上午}', '{morning}'), ('{下午}', '{afternoon}'), ('{晚上,夜间}', '{evening,night}'),
    ('{周末}', '{weekend}'), ('{星期一,周一}', '{monday}'), ('{星期二,周二}', '{tuesday}'),
    ('{星期三,周三}', '{wednesday}'), ('{星期四,周四}', '{thursday}'), ('{星期五,周五}', '{friday}'),
    ('{星期六,周六}', '{saturday}'), ('{星期日,周日,星期天}', '{sunday}'),
    ('{每天,每日}', '{daily,every day}'), ('{每周}', '{weekly,every week}'),
    ('{假期,休假,请假}', '{vacation,holiday,leave}'), ('{睡觉,睡眠}', '{sleep}'),
    ('{工作}', '{work,job}'), ('{公司}', '{company}'), ('{职位,岗位}', '{position,role}'),
    ('{工资,薪水}', '{salary}'), ('{预算}', '{budget}'), ('{价格}', '{price}'), ('{货币}', '{currency}'),
    ('{回答,答复,回复}', '{answer,reply,response}'), ('{问题}', '{problem,issue,question}'),
    ('{简洁,简短,精简}', '{concise,brief,short}'), ('{详细}', '{detailed,detail}'),
    ('{正式}', '{formal}'), ('{语气,口吻}', '{tone}'), ('{风格}', '{style}'), ('{表情}', '{emoji}'),
    ('{单位}', '{unit}'), ('{公制}', '{metric}'), ('{温度}', '{temperature}'), ('{摄氏}', '{celsius}'),
    ('{声音,音量}', '{sound,volume}'), ('{安静}', '{quiet}'), ('{静音,免打扰}', '{mute}'),
    ('{自动}', '{automatic,automatically,auto}'), ('{手动}', '{manual,manually}'),
    ('{隐私}', '{privacy}'), ('{图片,照片}', '{picture,photo,image}'), ('{视频}', '{video}'),
    ('{学习}', '{learn,learning,study}'), ('{目标}', '{goal,target}'), ('{健康}', '{health}'),
    ('{医生}', '{doctor}'), ('{药,药物}', '{medicine,medication}'), ('{天气}', '{weather}'),
    ('{医院}', '{hospital}'), ('{牙医,牙科}', '{dentist}'), ('{预约}', '{appointment}'),
    ('{餐厅,餐馆,饭店}', '{restaurant}'),
    ('{妈妈,母亲}', '{mother,mom,mum}'), ('{爸爸,父亲}', '{father,dad}'),
    ('{姐姐,妹妹,姐妹}', '{sister}'), ('{哥哥,弟弟,兄弟}', '{brother}'),
    ('{结婚,婚礼}', '{married,wedding}'), ('{年龄}', '{age}'), ('{小狗,狗狗}', '{dog,puppy}'),
    ('{小猫,猫咪}', '{cat,kitten}'), ('{房子,公寓}', '{house,apartment}'), ('{房租,租金}', '{rent}'),
    ('{搬家,搬到}', '{moved}'), ('{汽车,开车}', '{car}'), ('{学校}', '{school}'),
    ('{大学}', '{university,college}'), ('{考试}', '{exam}'), ('{银行}', '{bank}'),
    ('{购物,购买}', '{shopping,buy}'), ('{游戏}', '{game}'), ('{节日,节假日}', '{holiday}')
) AS translated (chinese_words, english_words),
     unnest(chinese_words) AS chinese, unnest(english_words) AS english
ON CONFLICT DO NOTHING;

-- Words of Taiwan and Hong Kong, each with the mainland word of the same meaning. Different
-- characters alone need no row: 認證 is 认证 (00_base/038_simplified).
WITH named (here, there) AS (
    VALUES
    ('資料庫', '数据库'), ('伺服器', '服务器'), ('程式', '程序'), ('程式碼', '代码'), ('原始碼', '源码'),
    ('網路', '网络'), ('網絡', '网络'), ('網際網路', '互联网'), ('記憶體', '内存'), ('硬碟', '硬盘'),
    ('磁碟', '磁盘'), ('軟體', '软件'), ('硬體', '硬件'), ('預設', '默认'), ('設定', '设置'),
    ('資訊', '信息'), ('訊息', '消息'), ('檔案', '文件'), ('資料夾', '文件夹'),
    ('使用者', '用户'), ('帳號', '账号'), ('帳戶', '账户'), ('帳單', '账单'), ('登入', '登录'),
    ('逾時', '超时'), ('連線', '连接'), ('快取', '缓存'), ('佇列', '队列'), ('叢集', '集群'),
    ('執行緒', '线程'), ('函式', '函数'), ('變數', '变量'), ('字串', '字符串'), ('陣列', '数组'),
    ('迴圈', '循环'), ('介面', '接口'), ('映像檔', '镜像'), ('虛擬機器', '虚拟机'),
    ('佈署', '部署'), ('搜尋', '搜索'), ('支援', '支持'), ('除錯', '调试'), ('頻寬', '带宽'),
    ('專案', '项目'), ('品質', '质量'), ('人工智慧', '人工智能'), ('滑鼠', '鼠标'), ('螢幕', '屏幕'),
    ('列印', '打印'), ('簡訊', '短信'), ('電郵', '邮件'), ('影片', '视频'), ('部落格', '博客'),
    ('行事曆', '日历'), ('捷運', '地铁'), ('計程車', '出租车'), ('公車', '公交车'),
    ('腳踏車', '自行车'), ('單車', '自行车'), ('冷氣', '空调'), ('鳳梨', '菠萝'), ('馬鈴薯', '土豆'),
    ('番茄', '西红柿'), ('優格', '酸奶'), ('禮拜', '星期')
)
INSERT INTO synonym (term, synonym, similarity)
SELECT least(p.word, p.other COLLATE "C"), greatest(p.word, p.other COLLATE "C"),
       max(p.similarity)
FROM (
    SELECT n.here AS word, n.there AS other, 0.9 AS similarity FROM named AS n
    UNION ALL
    SELECT n.here, CASE WHEN s.term = n.there THEN s.synonym ELSE s.term END, s.similarity
    FROM named AS n JOIN synonym AS s ON n.there IN (s.term, s.synonym)
) AS p
GROUP BY 1, 2
ON CONFLICT DO NOTHING;
